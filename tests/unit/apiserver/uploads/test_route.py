import pytest

from virtshape.apiserver.uploads.route import UploadRoute, find_upload, is_upload


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
@pytest.mark.parametrize(
    ("ending", "route"),
    [
        ("upload", UploadRoute(is_form=False, waits=True)),
        ("upload-async", UploadRoute(is_form=False, waits=False)),
        ("upload-archive", UploadRoute(is_form=False, waits=True)),
        ("upload-form", UploadRoute(is_form=True, waits=True)),
        ("upload-form-async", UploadRoute(is_form=True, waits=False)),
    ],
)
def test_upload_paths_have_routes(version: str, ending: str, route: UploadRoute) -> None:
    path = f"/{version}/{ending}"
    assert find_upload(path) == route
    assert is_upload("POST", f"{path}?x=y")
    assert not is_upload("HEAD", path)


@pytest.mark.parametrize("path", ["/v1/upload", "/v1beta1/upload/", "/v1beta1", "/upload", "/v1beta1/uploads"])
def test_paths_that_are_not_uploads_have_no_upload_route(path: str) -> None:
    assert find_upload(path) is None

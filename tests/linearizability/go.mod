// A checker of histories of API requests, with Porcupine.
module virtshape/tests/linearizability

go 1.24.0

require github.com/anishathalye/porcupine v1.3.1

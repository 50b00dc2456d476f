/*
 * Preloaded library that records changes of files below one directory, and makes them fail on request.
 *
 * DISK_ROOT is the directory. DISK_LOG is a file that gets one record per operation: a write is recorded before it is
 * made, and a sync when it begins and after it has ended, so that a reader knows which writes each sync covers.
 * DISK_FAULTS is a file of four 32-bit error numbers, which writes, syncs, reads, and changes of directories fail with
 * while they are not 0.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum fault { WRITES, SYNCS, READS, DIRECTORIES, FAULTS };
#define MAX_FILES 65536

struct record {
    uint32_t op, path_size, data_size, thread;
    uint64_t inode, time;
    int64_t offset;
};

static const char *root;
static size_t root_size;
static int log_file = -1;
static volatile int32_t *faults;
static uint64_t tracked[MAX_FILES]; /* the inode of each open file below the root; 0 for others */

static int (*real_open)(const char *, int, ...);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);
static int (*real_mkdir)(const char *, mode_t);
static int (*real_close)(int);

static void *find(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
    real_open = find("open64");
    real_write = find("write");
    real_pwrite = find("pwrite64");
    real_read = find("read");
    real_pread = find("pread64");
    real_ftruncate = find("ftruncate64");
    real_fsync = find("fsync");
    real_fdatasync = find("fdatasync");
    real_unlink = find("unlink");
    real_rename = find("rename");
    real_mkdir = find("mkdir");
    real_close = find("close");
    root = getenv("DISK_ROOT");
    const char *log = getenv("DISK_LOG"), *control = getenv("DISK_FAULTS");
    if (!root || !log || !control)
        abort();
    root_size = strlen(root);
    log_file = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int file = real_open(control, O_RDONLY | O_CLOEXEC);
    void *shared = mmap(NULL, FAULTS * sizeof(int32_t), PROT_READ, MAP_SHARED, file, 0);
    if (log_file < 0 || file < 0 || shared == MAP_FAILED)
        abort();
    real_close(file);
    faults = shared;
}

static int is_below_root(const char *path) { return root && !strncmp(path, root, root_size); }

static uint64_t find_inode(int file) { return file >= 0 && file < MAX_FILES ? tracked[file] : 0; }

static int has_failed(enum fault fault) {
    if (!faults || !faults[fault])
        return 0;
    errno = faults[fault];
    return 1;
}

static void record(char op, uint64_t inode, int64_t offset, const char *path, const void *data, size_t size) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct record head = {op, path ? strlen(path) : 0, size, gettid(), inode,
                          now.tv_sec * 1000000000ull + now.tv_nsec, offset};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path_size}, {(void *)data, size}};
    int saved = errno;
    if (writev(log_file, parts, 3) != (ssize_t)(sizeof head + head.path_size + size))
        abort();
    errno = saved;
}

static int open_tracked(const char *path, int flags, mode_t mode) {
    if (!is_below_root(path))
        return real_open(path, flags, mode);
    struct stat found;
    int existed = !stat(path, &found);
    if ((flags & O_CREAT) && !existed && has_failed(DIRECTORIES))
        return -1;
    int file = real_open(path, flags, mode);
    if (file < 0 || file >= MAX_FILES || fstat(file, &found))
        return file;
    tracked[file] = found.st_ino;
    if (!existed)
        record('c', found.st_ino, 0, path, NULL, 0);
    else if (flags & O_TRUNC)
        record('t', found.st_ino, 0, NULL, NULL, 0);
    return file;
}

static mode_t read_mode(int flags, va_list rest) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; }

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = read_mode(flags, rest);
    va_end(rest);
    return open_tracked(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = read_mode(flags, rest);
    va_end(rest);
    return open_tracked(path, flags, mode);
}

int close(int file) {
    if (file >= 0 && file < MAX_FILES)
        tracked[file] = 0;
    return real_close(file);
}

ssize_t write(int file, const void *data, size_t size) {
    uint64_t inode = find_inode(file);
    if (inode) {
        if (has_failed(WRITES))
            return -1;
        int is_appending = fcntl(file, F_GETFL) & O_APPEND;
        record('w', inode, is_appending ? lseek(file, 0, SEEK_END) : lseek(file, 0, SEEK_CUR), NULL, data, size);
    }
    return real_write(file, data, size);
}

static ssize_t write_at(int file, const void *data, size_t size, off_t offset) {
    uint64_t inode = find_inode(file);
    if (inode) {
        if (has_failed(WRITES))
            return -1;
        record('w', inode, offset, NULL, data, size);
    }
    return real_pwrite(file, data, size, offset);
}

ssize_t pwrite64(int file, const void *data, size_t size, off_t offset) { return write_at(file, data, size, offset); }
ssize_t pwrite(int file, const void *data, size_t size, off_t offset) { return write_at(file, data, size, offset); }

ssize_t read(int file, void *data, size_t size) {
    return find_inode(file) && has_failed(READS) ? -1 : real_read(file, data, size);
}

ssize_t pread64(int file, void *data, size_t size, off_t offset) {
    return find_inode(file) && has_failed(READS) ? -1 : real_pread(file, data, size, offset);
}

ssize_t pread(int file, void *data, size_t size, off_t offset) { return pread64(file, data, size, offset); }

static int truncate_tracked(int file, off_t size) {
    uint64_t inode = find_inode(file);
    if (inode) {
        if (has_failed(WRITES))
            return -1;
        record('t', inode, size, NULL, NULL, 0);
    }
    return real_ftruncate(file, size);
}

int ftruncate64(int file, off_t size) { return truncate_tracked(file, size); }
int ftruncate(int file, off_t size) { return truncate_tracked(file, size); }

static int sync_tracked(int file, int (*real_sync)(int)) {
    uint64_t inode = find_inode(file);
    if (!inode)
        return real_sync(file);
    if (has_failed(SYNCS))
        return -1;
    record('b', inode, 0, NULL, NULL, 0);
    int result = real_sync(file);
    if (!result)
        record('e', inode, 0, NULL, NULL, 0);
    return result;
}

int fsync(int file) { return sync_tracked(file, real_fsync); }
int fdatasync(int file) { return sync_tracked(file, real_fdatasync); }

int unlink(const char *path) {
    if (is_below_root(path)) {
        struct stat found;
        if (!stat(path, &found)) {
            if (has_failed(DIRECTORIES))
                return -1;
            record('u', found.st_ino, 0, path, NULL, 0);
        }
    }
    return real_unlink(path);
}

int rename(const char *from, const char *to) {
    if (is_below_root(from) && is_below_root(to)) {
        if (has_failed(DIRECTORIES))
            return -1;
        record('r', 0, 0, from, to, strlen(to));
    }
    return real_rename(from, to);
}

int mkdir(const char *path, mode_t mode) {
    if (!is_below_root(path))
        return real_mkdir(path, mode);
    if (access(path, F_OK) && has_failed(DIRECTORIES))
        return -1;
    int result = real_mkdir(path, mode);
    struct stat found;
    if (!result && !stat(path, &found))
        record('m', found.st_ino, 0, path, NULL, 0);
    return result;
}

/* Lets the n-th file call of a program go wrong: LD_PRELOAD this.
 *
 *   FAULT_AT      which call, counted from 1
 *   FAULT_DO      kill-before, kill-after, torn, short, eio, eio-forever, enospc, enospc-forever,
 *                 eperm-forever, erofs-forever, emfile-forever, no-epoll, stop,
 *                 half (ENOSPC behind a first write that is done by half), late (EIO though the call was done)
 *   FAULT_WINDOW  how many calls in a row fail, for eio, enospc, half and late; one if unset
 *   FAULT_THEN    stop: the program stops before the first call behind the window
 *   FAULT_ONLY    count only calls of these functions, or opens of these file names, separated by commas
 *
 * Calls on anything but plain files and folders below a folder descriptor are not counted. The program says
 * on stderr which calls of a window failed, and at its end how many calls it made.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static long calls;
enum act { GO, BY_HALF_DIE, BY_HALF, DIE_AFTER, FAIL, FAIL_LATE };

static int is(const char *wanted) {
    const char *what = getenv("FAULT_DO");
    return what && strcmp(what, wanted) == 0;
}

/* Whether a list of words, separated by commas, has this one. */
static int has(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length) {
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0)) return 1;
    }
    return 0;
}

static enum act fail(int error, const char *function, long call) {
    dprintf(2, "FAULT %s %ld\n", function, call);
    return errno = error, FAIL;
}

/* Decides about a call inside the window or behind it. */
static enum act window(const char *function, long call, long first) {
    const char *length = getenv("FAULT_WINDOW"), *then = getenv("FAULT_THEN");
    long last = first + (length ? atol(length) : 1) - 1;
    /* The write that is done by half does not fail by itself. */
    if (is("half")) last += 1;
    if (call > last) {
        if (call == last + 1 && then && strcmp(then, "stop") == 0) raise(SIGSTOP);
        return GO;
    }
    if (is("half") && call == first && strcmp(function, "write") == 0) return BY_HALF;
    if (is("half") || is("enospc")) return fail(ENOSPC, function, call);
    if (is("late")) return fail(EIO, function, call), FAIL_LATE;
    return fail(EIO, function, call);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts a call and decides about it. */
static enum act decide(const char *function, const char *name) {
    const char *only = getenv("FAULT_ONLY"), *at = getenv("FAULT_AT");
    if (only && !has(only, function) && !(name && has(only, name))) return GO;
    long call = __sync_add_and_fetch(&calls, 1), wanted = at ? atol(at) : 0;
    if (wanted == 0 || call < wanted) return GO;
    if (is("eio-forever")) return errno = EIO, FAIL;
    if (is("enospc-forever")) return errno = ENOSPC, FAIL;
    if (is("eperm-forever")) return errno = EPERM, FAIL;
    if (is("erofs-forever")) return errno = EROFS, FAIL;
    if (is("emfile-forever")) return errno = EMFILE, FAIL;
    if (is("eio") || is("enospc") || is("half") || is("late")) return window(function, call, wanted);
    if (call > wanted) return GO;
    if (is("kill-before")) die();
    if (is("kill-after")) return DIE_AFTER;
    if (is("torn")) return BY_HALF_DIE;
    if (is("short")) return BY_HALF;
    if (is("stop")) raise(SIGSTOP);
    return GO;
}

static int plain(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Does a call that cannot be done by half. */
#define WHOLE(result, function, name, call)                     \
    enum act act_ = decide(function, name);                     \
    if (act_ == FAIL) return -1;                                \
    result done_ = (call);                                      \
    if (act_ == FAIL_LATE) return errno = EIO, -1;              \
    if (act_ == DIE_AFTER || act_ == BY_HALF_DIE) die();        \
    return done_;

static int open_at(int (*real)(int, const char *, int, ...), int dir, const char *path, int flags,
                   mode_t mode) {
    if (dir == AT_FDCWD || path[0] == '/') return real(dir, path, flags, mode);
    const char *slash = strrchr(path, '/');
    WHOLE(int, "openat", slash ? slash + 1 : path, real(dir, path, flags, mode))
}

int openat(int dir, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return open_at(REAL(openat), dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return open_at(REAL(openat64), dir, path, flags, mode);
}

int epoll_create1(int flags) {
    if (is("no-epoll")) return errno = ENOSYS, -1;
    return REAL(epoll_create1)(flags);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    if (fd <= 2 || !plain(fd)) return REAL(write)(fd, bytes, count);
    enum act act = decide("write", NULL);
    if (act == FAIL) return -1;
    if (act == BY_HALF || act == BY_HALF_DIE) count = count > 1 ? count / 2 : count;
    ssize_t done = REAL(write)(fd, bytes, count);
    if (act == FAIL_LATE) return errno = EIO, -1;
    if (act == DIE_AFTER || act == BY_HALF_DIE) die();
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    WHOLE(ssize_t, "pwrite", NULL, REAL(pwrite64)(fd, bytes, count, at))
}

ssize_t writev(int fd, const struct iovec *bytes, int count) {
    if (fd <= 2 || !plain(fd)) return REAL(writev)(fd, bytes, count);
    WHOLE(ssize_t, "writev", NULL, REAL(writev)(fd, bytes, count))
}

int fdatasync(int fd) {
    WHOLE(int, "fdatasync", NULL, REAL(fdatasync)(fd))
}

int fsync(int fd) {
    WHOLE(int, "fsync", NULL, REAL(fsync)(fd))
}

int ftruncate(int fd, off_t len) {
    WHOLE(int, "ftruncate", NULL, REAL(ftruncate)(fd, len))
}

int ftruncate64(int fd, off64_t len) {
    WHOLE(int, "ftruncate", NULL, REAL(ftruncate64)(fd, len))
}

int renameat(int from, const char *old, int to, const char *new) {
    WHOLE(int, "renameat", NULL, REAL(renameat)(from, old, to, new))
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
    WHOLE(int, "linkat", NULL, REAL(linkat)(from, old, to, new, flags))
}

int rename(const char *old, const char *new) {
    WHOLE(int, "rename", NULL, REAL(rename)(old, new))
}

int link(const char *old, const char *new) {
    WHOLE(int, "link", NULL, REAL(link)(old, new))
}

int unlinkat(int dir, const char *path, int flags) {
    WHOLE(int, "unlinkat", NULL, REAL(unlinkat)(dir, path, flags))
}

/* A lock changes no file, so it counts only if it is asked for. */
int flock(int fd, int operation) {
    const char *only = getenv("FAULT_ONLY");
    if (!only || !has(only, "flock") || !(operation & LOCK_EX)) return REAL(flock)(fd, operation);
    WHOLE(int, "flock", NULL, REAL(flock)(fd, operation))
}

int mkdirat(int dir, const char *path, mode_t mode) {
    WHOLE(int, "mkdirat", NULL, REAL(mkdirat)(dir, path, mode))
}

int symlinkat(const char *target, int dir, const char *path) {
    WHOLE(int, "symlinkat", NULL, REAL(symlinkat)(target, dir, path))
}

__attribute__((destructor)) static void tell(void) {
    fprintf(stderr, "CALLS %ld\n", calls);
}

/* Counts the allocations of a program, for glibc: LD_PRELOAD this. The program says at its end, on stderr, how many it
 * made. A block that is made larger or smaller counts as one more.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static long allocations;

static void count(void) { __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) { return count(), __libc_malloc(size); }
void *calloc(size_t items, size_t size) { return count(), __libc_calloc(items, size); }
void *realloc(void *block, size_t size) { return count(), __libc_realloc(block, size); }
void *memalign(size_t alignment, size_t size) { return count(), __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

__attribute__((destructor)) static void tell(void) { dprintf(2, "ALLOCATIONS %ld\n", allocations); }

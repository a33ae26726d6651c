/* A disk that is full for a process while the file named by DISK_FULL_FILE is there: loaded before the C library (LD_PRELOAD), it refuses
   with ENOSPC what would make a file larger. What lies within a file is written, as it is on a disk that is full. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Whether these bytes have no room. */
static int is_refused(int file, off64_t offset, size_t size) {
  const char *path = getenv("DISK_FULL_FILE");
  struct stat64 found;
  if (!path || access(path, F_OK) != 0) return 0;
  /* The log of the process lies elsewhere. */
  if (file <= STDERR_FILENO || fstat64(file, &found) != 0 || !S_ISREG(found.st_mode)) return 0;
  if (offset < 0) offset = lseek64(file, 0, SEEK_CUR);
  return offset >= 0 && offset + (off64_t)size > found.st_size;
}

static size_t total(const struct iovec *parts, int count) {
  size_t size = 0;
  for (int index = 0; index < count; index++) size += parts[index].iov_len;
  return size;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define REFUSE(file, offset, size) \
  if (is_refused(file, offset, size)) return errno = ENOSPC, -1

ssize_t write(int file, const void *bytes, size_t size) {
  REFUSE(file, -1, size);
  return NEXT(write)(file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
  REFUSE(file, offset, size);
  return NEXT(pwrite)(file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
  REFUSE(file, offset, size);
  return NEXT(pwrite64)(file, bytes, size, offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
  REFUSE(file, offset, total(parts, count));
  return NEXT(pwritev)(file, parts, count, offset);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) {
  REFUSE(file, offset, total(parts, count));
  return NEXT(pwritev64)(file, parts, count, offset);
}

/* The false device's files: its node, and what libdrm reads about it. Below these folders nothing else exists for this process, so a real GPU
 * stays hidden. All other paths go to the C library as they are. */
#define _GNU_SOURCE
#include "stand_in.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NODES "/dev/dri"
#define DEVICE "/sys/dev/char/226:128"

enum kind { FOLDER, NODE, LINK, TEXT };

static const struct entry {
   const char *path;
   enum kind kind;
   const char *text; /* a file's contents or a link's target; of the file "device" they depend on the chip */
} entries[] = {
   {NODES, FOLDER, NULL},
   {NODES "/renderD128", NODE, NULL},
   {DEVICE, FOLDER, NULL},
   {DEVICE "/uevent", TEXT, "MAJOR=226\nMINOR=128\nDEVNAME=dri/renderD128\nDEVTYPE=drm_minor\n"},
   {DEVICE "/device", FOLDER, NULL},
   {DEVICE "/device/drm", FOLDER, NULL},
   {DEVICE "/device/drm/renderD128", FOLDER, NULL},
   {DEVICE "/device/subsystem", LINK, "/sys/bus/pci"},
   {DEVICE "/device/uevent", TEXT, "PCI_SLOT_NAME=0000:03:00.0\n"},
   {DEVICE "/device/vendor", TEXT, "0x8086\n"},
   {DEVICE "/device/device", TEXT, NULL},
   {DEVICE "/device/subsystem_vendor", TEXT, "0x8086\n"},
   {DEVICE "/device/subsystem_device", TEXT, "0x0\n"},
   {DEVICE "/device/revision", TEXT, NULL},
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

static int below(const char *path, const char *folder)
{
   size_t length = strlen(folder);
   return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* Return whether a path is for this library to answer. *found is its entry, NULL if there is no such file. */
static int ours(const char *path, const struct entry **found)
{
   *found = NULL;
   if (!path || !(below(path, NODES) || below(path, DEVICE)))
      return 0;
   size_t length = strlen(path);
   while (path[length - 1] == '/')
      length--;
   for (int i = 0; i < ENTRIES; i++)
      if (strlen(entries[i].path) == length && !strncmp(path, entries[i].path, length))
         *found = entries + i;
   if (!*found)
      errno = ENOENT;
   return 1;
}

static const char *contents(const struct entry *entry, char buffer[16])
{
   if (entry->text)
      return entry->text;
   int is_id = !strcmp(entry->path, DEVICE "/device/device");
   snprintf(buffer, 16, "0x%lx\n", is_id ? number("STUB_INTEL_ID", 0) : number("STUB_INTEL_REVISION", 0));
   return buffer;
}

static int open_entry(const struct entry *entry, int flags)
{
   char buffer[16];
   if (!entry)
      return -1;
   if (entry->kind != NODE && (flags & O_ACCMODE) != O_RDONLY)
      return errno = EACCES, -1;
   int fd = memfd_create("intel-stand-in", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
   if (fd < 0)
      return fd;
   if (entry->kind == NODE && ftruncate(fd, DEVICE_SIZE)) {
      close(fd);
      return -1;
   }
   if (entry->kind == TEXT) {
      const char *text = contents(entry, buffer);
      if (write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
         return close(fd), -1;
   }
   return fd;
}

int is_device(int fd)
{
   struct stat buf;
   return !REAL(fstat)(fd, &buf) && S_ISREG(buf.st_mode) && buf.st_size == DEVICE_SIZE && !buf.st_nlink;
}

/* Opening */

static int has_mode(int flags) { return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE; }

#define OPENED(flags, call)                                                                                                                \
   const struct entry *found;                                                                                                              \
   mode_t mode = 0;                                                                                                                        \
   if (has_mode(flags)) {                                                                                                                  \
      va_list list;                                                                                                                        \
      va_start(list, flags);                                                                                                               \
      mode = va_arg(list, mode_t);                                                                                                         \
      va_end(list);                                                                                                                        \
   }                                                                                                                                       \
   return ours(path, &found) ? open_entry(found, flags) : call

EXPORT int open(const char *path, int flags, ...) { OPENED(flags, REAL(open)(path, flags, mode)); }
EXPORT int open64(const char *path, int flags, ...) { OPENED(flags, REAL(open64)(path, flags, mode)); }
EXPORT int openat(int at, const char *path, int flags, ...) { OPENED(flags, REAL(openat)(at, path, flags, mode)); }
EXPORT int openat64(int at, const char *path, int flags, ...) { OPENED(flags, REAL(openat64)(at, path, flags, mode)); }

/* The names that a program compiled with _FORTIFY_SOURCE calls. */
EXPORT int __open_2(const char *path, int flags) { return open(path, flags); }
EXPORT int __open64_2(const char *path, int flags) { return open64(path, flags); }
EXPORT int __openat_2(int at, const char *path, int flags) { return openat(at, path, flags); }
EXPORT int __openat64_2(int at, const char *path, int flags) { return openat64(at, path, flags); }

static FILE *stream(const struct entry *entry, const char *mode)
{
   int fd = open_entry(entry, *mode == 'r' && !strchr(mode, '+') ? O_RDONLY | O_CLOEXEC : O_RDWR | O_CLOEXEC);
   return fd < 0 ? NULL : fdopen(fd, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
   const struct entry *found;
   return ours(path, &found) ? stream(found, mode) : REAL(fopen)(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
   const struct entry *found;
   return ours(path, &found) ? stream(found, mode) : REAL(fopen64)(path, mode);
}

/* Asking about a file */

static mode_t mode_of(const struct entry *entry)
{
   switch (entry->kind) {
   case FOLDER:
      return S_IFDIR | 0755;
   case NODE:
      return S_IFCHR | 0666;
   case LINK:
      return S_IFLNK | 0777;
   case TEXT:
      break;
   }
   return S_IFREG | 0444;
}

/* The structures of stat and stat64 have the same members. */
#define DESCRIBE(entry, buf)                                                                                                               \
   ({                                                                                                                                      \
      int result = -1;                                                                                                                     \
      if (entry) {                                                                                                                         \
         memset(buf, 0, sizeof *buf);                                                                                                      \
         buf->st_ino = entry - entries + 1;                                                                                                \
         buf->st_nlink = 1;                                                                                                                \
         buf->st_mode = mode_of(entry);                                                                                                    \
         if (entry->kind == NODE)                                                                                                          \
            buf->st_rdev = makedev(MAJOR, MINOR);                                                                                          \
         result = 0;                                                                                                                       \
      }                                                                                                                                    \
      result;                                                                                                                              \
   })

#define ASKED(call)                                                                                                                        \
   const struct entry *found;                                                                                                              \
   return ours(path, &found) ? DESCRIBE(found, buf) : call

EXPORT int stat(const char *restrict path, struct stat *restrict buf) { ASKED(REAL(stat)(path, buf)); }
EXPORT int stat64(const char *restrict path, struct stat64 *restrict buf) { ASKED(REAL(stat64)(path, buf)); }
EXPORT int lstat(const char *restrict path, struct stat *restrict buf) { ASKED(REAL(lstat)(path, buf)); }
EXPORT int lstat64(const char *restrict path, struct stat64 *restrict buf) { ASKED(REAL(lstat64)(path, buf)); }

/* An open device is asked about by its descriptor, fstat's or fstatat's with an empty path. */
static const struct entry *const node = entries + 1;

#define ASKED_OPEN(fd, call)                                                                                                               \
   return is_device(fd) ? DESCRIBE(node, buf) : call

EXPORT int fstat(int fd, struct stat *buf) { ASKED_OPEN(fd, REAL(fstat)(fd, buf)); }
EXPORT int fstat64(int fd, struct stat64 *buf) { ASKED_OPEN(fd, REAL(fstat64)(fd, buf)); }

static int by_descriptor(const char *path, int flags) { return flags & AT_EMPTY_PATH && (!path || !*path); }

EXPORT int fstatat(int at, const char *restrict path, struct stat *restrict buf, int flags)
{
   if (by_descriptor(path, flags))
      ASKED_OPEN(at, REAL(fstatat)(at, path, buf, flags));
   ASKED(REAL(fstatat)(at, path, buf, flags));
}

EXPORT int fstatat64(int at, const char *restrict path, struct stat64 *restrict buf, int flags)
{
   if (by_descriptor(path, flags))
      ASKED_OPEN(at, REAL(fstatat64)(at, path, buf, flags));
   ASKED(REAL(fstatat64)(at, path, buf, flags));
}

EXPORT int statx(int at, const char *restrict path, int flags, unsigned int mask, struct statx *restrict buf)
{
   const struct entry *found = node;
   if (!(by_descriptor(path, flags) ? is_device(at) : ours(path, &found)))
      return REAL(statx)(at, path, flags, mask, buf);
   if (!found)
      return -1;
   memset(buf, 0, sizeof *buf);
   buf->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_INO;
   buf->stx_ino = found - entries + 1;
   buf->stx_nlink = 1;
   buf->stx_mode = mode_of(found);
   if (found->kind == NODE)
      buf->stx_rdev_major = MAJOR, buf->stx_rdev_minor = MINOR;
   return 0;
}

static int may(const struct entry *entry, int wanted)
{
   if (!entry)
      return -1;
   if (entry->kind != NODE && wanted & W_OK)
      return errno = EACCES, -1;
   return 0;
}

EXPORT int access(const char *path, int wanted)
{
   const struct entry *found;
   return ours(path, &found) ? may(found, wanted) : REAL(access)(path, wanted);
}

EXPORT int faccessat(int at, const char *path, int wanted, int flags)
{
   const struct entry *found;
   return ours(path, &found) ? may(found, wanted) : REAL(faccessat)(at, path, wanted, flags);
}

/* Links */

static ssize_t target(const struct entry *entry, char *buffer, size_t size)
{
   if (!entry)
      return -1;
   if (entry->kind != LINK)
      return errno = EINVAL, -1;
   size_t length = strlen(entry->text) < size ? strlen(entry->text) : size;
   memcpy(buffer, entry->text, length);
   return length;
}

EXPORT ssize_t readlink(const char *restrict path, char *restrict buffer, size_t size)
{
   const struct entry *found;
   return ours(path, &found) ? target(found, buffer, size) : REAL(readlink)(path, buffer, size);
}

EXPORT ssize_t readlinkat(int at, const char *restrict path, char *restrict buffer, size_t size)
{
   const struct entry *found;
   return ours(path, &found) ? target(found, buffer, size) : REAL(readlinkat)(at, path, buffer, size);
}

EXPORT ssize_t __readlink_chk(const char *path, char *buffer, size_t size, size_t room)
{
   return size > room ? (abort(), -1) : readlink(path, buffer, size);
}

EXPORT char *realpath(const char *restrict path, char *restrict resolved)
{
   const struct entry *found;
   if (!ours(path, &found))
      return REAL(realpath)(path, resolved);
   if (!found)
      return NULL;
   const char *end = found->kind == LINK ? found->text : found->path;
   return resolved ? strcpy(resolved, end) : strdup(end);
}

EXPORT char *__realpath_chk(const char *path, char *resolved, size_t room)
{
   return room < PATH_MAX ? (abort(), NULL) : realpath(path, resolved);
}

/* Folders. A listing is one of these, so the functions know it by its address. */

enum { LISTINGS = 16 };

static struct listing {
   const struct entry *folder; /* NULL if the listing is free */
   int next;                   /* index of the entry to look at */
   struct dirent item;
   struct dirent64 item64;
} listings[LISTINGS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct listing *listing_of(DIR *stream)
{
   struct listing *listing = (struct listing *)stream;
   return listing >= listings && listing < listings + LISTINGS ? listing : NULL;
}

EXPORT DIR *opendir(const char *path)
{
   const struct entry *found;
   if (!ours(path, &found))
      return REAL(opendir)(path);
   if (!found)
      return NULL;
   if (found->kind != FOLDER)
      return errno = ENOTDIR, NULL;
   struct listing *free_one = NULL;
   pthread_mutex_lock(&lock);
   for (int i = 0; i < LISTINGS && !free_one; i++)
      if (!listings[i].folder)
         free_one = listings + i;
   if (free_one) {
      free_one->folder = found;
      free_one->next = 0;
   }
   pthread_mutex_unlock(&lock);
   if (!free_one)
      errno = EMFILE;
   return (DIR *)free_one;
}

/* Return the name of the next file in a folder, NULL at the end. */
static const char *next_name(struct listing *listing, const struct entry **found)
{
   size_t length = strlen(listing->folder->path);
   while (listing->next < ENTRIES) {
      *found = entries + listing->next++;
      const char *path = (*found)->path;
      if (below(path, listing->folder->path) && path[length] && !strchr(path + length + 1, '/'))
         return path + length + 1;
   }
   return NULL;
}

#define READ(item)                                                                                                                         \
   const struct entry *found;                                                                                                              \
   const char *name = next_name(listing, &found);                                                                                          \
   if (!name)                                                                                                                              \
      return NULL;                                                                                                                         \
   memset(&item, 0, sizeof item);                                                                                                          \
   item.d_ino = found - entries + 1;                                                                                                       \
   item.d_reclen = sizeof item;                                                                                                            \
   item.d_type = IFTODT(mode_of(found));                                                                                                   \
   strcpy(item.d_name, name);                                                                                                              \
   return &item

EXPORT struct dirent *readdir(DIR *stream)
{
   struct listing *listing = listing_of(stream);
   if (!listing)
      return REAL(readdir)(stream);
   READ(listing->item);
}

EXPORT struct dirent64 *readdir64(DIR *stream)
{
   struct listing *listing = listing_of(stream);
   if (!listing)
      return REAL(readdir64)(stream);
   READ(listing->item64);
}

EXPORT void rewinddir(DIR *stream)
{
   struct listing *listing = listing_of(stream);
   if (listing)
      listing->next = 0;
   else
      REAL(rewinddir)(stream);
}

EXPORT int dirfd(DIR *stream)
{
   if (listing_of(stream))
      return errno = ENOTSUP, -1;
   return REAL(dirfd)(stream);
}

EXPORT int closedir(DIR *stream)
{
   struct listing *listing = listing_of(stream);
   if (!listing)
      return REAL(closedir)(stream);
   listing->folder = NULL;
   return 0;
}

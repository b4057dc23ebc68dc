/* Stands in for the kernel drivers i915 and xe of Intel GPUs in a process that preloads it: Mesa's ANV finds a device, opens it and compiles,
 * and nothing runs. It needs no root rights and no file of the machine.
 *
 * files.c   the device's node and the few files that describe it, which exist only for this process
 * drm.c     what all drivers of the kernel's DRM answer, and buffers
 * i915.c    what i915 answers (up to Xe-LPG+);  xe.c  what xe answers (from Xe2)
 *
 * Variables: STUB_INTEL_DRIVER=i915|xe, STUB_INTEL_ID=0x56a0 (PCI device), STUB_INTEL_REVISION, STUB_INTEL_SLICES, STUB_INTEL_SUBSLICES (per
 * slice), STUB_INTEL_EUS (per subslice), STUB_INTEL_VRAM=0|1, STUB_INTEL_IP=20.01 (graphics version, xe only). STUB_INTEL_LOG=1 prints calls
 * without an answer.
 *
 * An open device is a sparse memfd. A buffer is a range of it, so mmap of the device at a buffer's offset needs no help.
 */
#pragma once
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAJOR = 226, MINOR = 128 }; /* of the device's node */

/* The size of an open device tells it from all other files. */
#define DEVICE_SIZE ((1ll << 44) + 0x8086)

/* The function that this library hides. */
#define REAL(name)                                                                                                                         \
   ({                                                                                                                                      \
      static __typeof__(&name) real;                                                                                                       \
      if (!real)                                                                                                                           \
         real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                                                \
      real;                                                                                                                                \
   })

/* Return the number in an environment variable; `otherwise` if it is not set. */
long number(const char *name, long otherwise);
int is_xe(void);
long slices(void);
long subslices(void);
long units(void);
long has_vram(void);
extern const uint64_t memory; /* bytes of each region */

/* Set errno for a call without an answer, and return -1. */
int unknown(const char *what, unsigned long value);

/* Reserve a range of the device for a buffer, and return its handle; return -1 and set errno if there is none. */
int make_buffer(uint64_t size, uint32_t *handle);
uint64_t buffer_offset(uint32_t handle);
uint32_t next_object(void);

/* Return whether a descriptor is an open device. */
int is_device(int fd);

/* Answer the ioctl with number `nr` of a driver. */
int of_i915(int nr, void *argument);
int of_xe(int nr, void *argument);

// mallopt(3) and its options, which are in no header that Swift's Glibc module has.
#include <malloc.h>

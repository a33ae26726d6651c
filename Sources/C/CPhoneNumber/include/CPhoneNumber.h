#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Outcome of a parse. The values up to CPN_TOO_LONG_NSN are those of PhoneNumberUtil::ErrorType.
enum {
  CPN_OK = 0,
  CPN_INVALID_COUNTRY_CODE = 1,
  CPN_NOT_A_NUMBER = 2,
  CPN_TOO_SHORT_AFTER_IDD = 3,
  CPN_TOO_SHORT_NSN = 4,
  CPN_TOO_LONG_NSN = 5,
  /// The library does not know the region.
  CPN_UNKNOWN_REGION = 100,
  /// A C++ exception was caught: no memory, most likely.
  CPN_EXCEPTION = 101,
};

/// A number, as far as it was parsed. All texts end with a NUL.
typedef struct {
  int32_t country_code;
  /// PhoneNumberUtil::PhoneNumberType.
  int32_t type;
  /// PhoneNumberUtil::ValidationResult.
  int32_t possibility;
  bool has_extension;
  /// "+" and up to 20 digits: 3 of the country code, 17 of the national number at most.
  char e164[24];
  /// Two letters, "001" for numbers of no country, or empty when it cannot be told.
  char region[4];
  /// The main region of the country code: "US" for 1.
  char main_region[4];
} cpn_number;

/// Parses a number. Thread-safe. No exception leaves it.
///
/// @param text the number, in UTF-8; need not end with a NUL.
/// @param length its bytes.
/// @param region two upper-case letters and a NUL for a number without country code, or an empty string.
/// @param number is filled when the result is CPN_OK.
int32_t cpn_parse(const char *text, size_t length, const char *region, cpn_number *number);

/// Tells whether a number in E.164 has a length that its country's numbers have. Thread-safe. No exception leaves it.
///
/// @param digits country code and national number, 7 to 15 digits in ASCII, without the plus; need not end with a NUL.
/// @param length their number.
/// @param possibility PhoneNumberUtil::ValidationResult, when the result is CPN_OK.
/// @return CPN_OK, CPN_INVALID_COUNTRY_CODE or CPN_EXCEPTION.
int32_t cpn_possibility(const char *digits, size_t length, int32_t *possibility);

#ifdef __cplusplus
}
#endif

#include "CPhoneNumber.h"

#include <phonenumbers/phonenumberutil.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <set>
#include <string>

using i18n::phonenumbers::PhoneNumber;
using i18n::phonenumbers::PhoneNumberUtil;

static_assert(CPN_INVALID_COUNTRY_CODE == PhoneNumberUtil::INVALID_COUNTRY_CODE_ERROR, "");
static_assert(CPN_NOT_A_NUMBER == PhoneNumberUtil::NOT_A_NUMBER, "");
static_assert(CPN_TOO_SHORT_AFTER_IDD == PhoneNumberUtil::TOO_SHORT_AFTER_IDD, "");
static_assert(CPN_TOO_SHORT_NSN == PhoneNumberUtil::TOO_SHORT_NSN, "");
static_assert(CPN_TOO_LONG_NSN == PhoneNumberUtil::TOO_LONG_NSN, "");

namespace {

/// Copies a text that fits; a longer one (the library has none) becomes empty rather than wrong.
template <size_t N>
void copy(const std::string &from, char (&to)[N]) {
  std::fill(to, to + N, '\0');
  if (from.size() < N) std::copy(from.begin(), from.end(), to);
}

/// "ZZ" is the library's name for no region.
std::string known(const std::string &region) { return region == "ZZ" ? std::string() : region; }

/// Country codes have up to three digits, national numbers up to fifteen less those (ITU-T E.164, 6.2.1).
constexpr size_t kCountryCodes = 1000;
constexpr size_t kNationalLengths = 16;

/// The library's answer for each country code and length, plus one; 0 until it is asked. Without a type it goes by country code and length
/// alone, and needs some thirty allocations to do so.
std::array<std::atomic<int8_t>, kCountryCodes * kNationalLengths> known_possibilities;

int32_t possibility_of(const PhoneNumber &number, size_t national_length) {
  // Of a number of zeros alone the library makes a longer one.
  const bool is_known_by_length = number.country_code() < static_cast<int>(kCountryCodes) &&
                                  national_length < kNationalLengths && number.national_number() != 0;
  if (!is_known_by_length) return PhoneNumberUtil::GetInstance()->IsPossibleNumberWithReason(number);
  auto &known = known_possibilities[number.country_code() * kNationalLengths + national_length];
  const int8_t said = known.load(std::memory_order_relaxed);
  if (said != 0) return said - 1;
  const int32_t result = PhoneNumberUtil::GetInstance()->IsPossibleNumberWithReason(number);
  known.store(static_cast<int8_t>(result + 1), std::memory_order_relaxed);
  return result;
}

/// Region that stands for all that share a country code. The library lists them all to name the first.
const std::string &main_region(int country_code) {
  static const std::array<std::string, kCountryCodes> regions = [] {
    std::array<std::string, kCountryCodes> regions;
    const PhoneNumberUtil &util = *PhoneNumberUtil::GetInstance();
    std::set<int> supported;
    util.GetSupportedCallingCodes(&supported);
    for (int code : supported) util.GetRegionCodeForCountryCode(code, &regions.at(code));
    return regions;
  }();
  static const std::string none;
  return country_code < static_cast<int>(kCountryCodes) ? regions[country_code] : none;
}

/// Fills in the library's knowledge of a number, however it was parsed.
int32_t describe(const PhoneNumber &parsed, cpn_number &number) {
  const PhoneNumberUtil &util = *PhoneNumberUtil::GetInstance();
  std::string found;
  number.country_code = parsed.country_code();
  number.type = util.GetNumberType(parsed);
  number.has_extension = !parsed.extension().empty();
  // E.164 has no place for an extension: it is left out.
  util.Format(parsed, PhoneNumberUtil::E164, &found);
  copy(found, number.e164);
  // Behind the plus and the country code.
  const size_t national_length = found.size() - 1 - std::to_string(parsed.country_code()).size();
  number.possibility = possibility_of(parsed, national_length);
  util.GetRegionCodeForNumber(parsed, &found);
  copy(known(found), number.region);
  copy(known(main_region(parsed.country_code())), number.main_region);
  return CPN_OK;
}

/// The numbers below 1000 that are country codes. No country code begins like another.
std::bitset<1000> country_codes() {
  std::set<int> supported;
  PhoneNumberUtil::GetInstance()->GetSupportedCallingCodes(&supported);
  std::bitset<1000> codes;
  for (int code : supported) codes.set(code);
  return codes;
}

/// Reads country code and national number of digits in international form.
bool read_digits(const char *digits, size_t length, PhoneNumber &number, size_t &national_length) {
  static const std::bitset<1000> codes = country_codes();
  int code = 0;
  size_t place = 0;
  do {
    if (place == 3 || place == length) return false;
    code = code * 10 + (digits[place++] - '0');
  } while (!codes.test(code));

  const size_t start = place;
  national_length = length - start;
  while (place < length && digits[place] == '0') place++;
  const auto zeros = static_cast<int32_t>(place - start);
  uint64_t national = 0;
  for (; place < length; place++) national = national * 10 + (digits[place] - '0');

  number.set_country_code(code);
  number.set_national_number(national);
  // The library's name for zeros that belong to the number; they are kept apart from the value, which has none.
  if (zeros > 0) number.set_italian_leading_zero(true);
  if (zeros > 1) number.set_number_of_leading_zeros(zeros);
  return true;
}

/// A country code under which PhoneNumberUtil::Parse takes nothing off a national number that begins with this digit or a higher one: the
/// prefixes that it takes off begin with a lower one.
struct PlainCode {
  int country_code;
  char first_digit;
};

/// By the library's metadata (nationalPrefixForParsing); a test holds each to what Parse says of random numbers.
constexpr std::array<PlainCode, 30> kPlainCodes = {{
    {1, '2'}, {20, '1'}, {27, '1'}, {30, '1'}, {31, '1'}, {32, '1'}, {33, '1'}, {34, '1'}, {39, '1'}, {41, '1'},
    {43, '1'}, {44, '1'}, {45, '1'}, {46, '1'}, {47, '1'}, {48, '1'}, {49, '1'}, {57, '1'}, {60, '1'}, {61, '2'},
    {62, '1'}, {63, '1'}, {65, '1'}, {66, '1'}, {81, '1'}, {82, '1'}, {84, '1'}, {90, '1'}, {91, '1'}, {92, '1'},
}};

/// Lengths of national numbers under the codes above; shorter and longer ones are left to Parse, which has rules for them.
constexpr size_t kPlainLengthMin = 7;
constexpr size_t kPlainLengthMax = 12;

/// A plus and digits of a country code without surprises: PhoneNumberUtil::Parse, which takes numbers written in any way, needs five times
/// as long for the same.
bool read_plain(const std::string &text, PhoneNumber &number) {
  // ITU-T E.164, 6.2.1: fifteen digits at most.
  if (text.size() < 8 || text.size() > 16 || text[0] != '+' || text[1] == '0') return false;
  if (!std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; })) return false;
  size_t national_length = 0;
  if (!read_digits(text.data() + 1, text.size() - 1, number, national_length)) return false;
  if (national_length < kPlainLengthMin || national_length > kPlainLengthMax) return false;
  const char first_digit = text[text.size() - national_length];
  return std::any_of(kPlainCodes.begin(), kPlainCodes.end(), [&](const PlainCode &plain) {
    return plain.country_code == number.country_code() && first_digit >= plain.first_digit;
  });
}

int32_t parse(const std::string &text, const std::string &region, cpn_number &number) {
  const PhoneNumberUtil &util = *PhoneNumberUtil::GetInstance();
  if (!region.empty() && util.GetCountryCodeForRegion(region) == 0) return CPN_UNKNOWN_REGION;
  PhoneNumber plain;
  if (read_plain(text, plain)) return describe(plain, number);

  PhoneNumber parsed;
  const auto error = util.Parse(text, region.empty() ? "ZZ" : region, &parsed);
  return error == PhoneNumberUtil::NO_PARSING_ERROR ? describe(parsed, number) : error;
}

/// PhoneNumberUtil::Parse, which takes numbers written in any way, needs ten times as long.
int32_t possibility(const char *digits, size_t length, int32_t &result) {
  PhoneNumber number;
  size_t national_length = 0;
  if (!read_digits(digits, length, number, national_length)) return CPN_INVALID_COUNTRY_CODE;
  result = possibility_of(number, national_length);
  return CPN_OK;
}

}  // namespace

extern "C" int32_t cpn_possibility(const char *digits, size_t length, int32_t *result) {
  try {
    return possibility(digits, length, *result);
  } catch (...) {
    return CPN_EXCEPTION;
  }
}

extern "C" int32_t cpn_parse(const char *text, size_t length, const char *region, cpn_number *number) {
  try {
    return parse(std::string(text, length), std::string(region), *number);
  } catch (...) {
    // Swift cannot unwind: an exception that crossed the border would end the process.
    return CPN_EXCEPTION;
  }
}

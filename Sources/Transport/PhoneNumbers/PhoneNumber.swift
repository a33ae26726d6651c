import CountersignTelemetry

/// A parsed phone number with libphonenumber's knowledge of it.
///
/// Two are equal when their E.164 forms are. Printing one shows ``redacted`` only.
public struct PhoneNumber: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The longest text that is parsed, in bytes of UTF-8. Libphonenumber's own limit is 250 characters.
  public static let maxInputBytes = 250

  /// The number as E.164 has it: + and digits.
  public let e164: String
  /// The country code, 1 to 999.
  public let countryCode: Int
  /// The region in two letters of ISO 3166-1, "001" for non-geographic numbers. `nil` if unknown: for an invalid number
  /// under a country code that several regions share.
  public let region: String?
  /// The main region of the country code, valid number or not: "US" for 1, "001" for codes of no country.
  public let countryCodeRegion: String?
  /// Type of the number's range.
  public let type: NumberType
  /// Whether the number has a length of its country's.
  public let possibility: Possibility
  /// Whether the number is in a range that is in use, by metadata which is older than the youngest ranges.
  ///
  /// libphonenumber's own test looks the range's type up once more and asks whether there is one
  /// (IsValidNumberForRegion).
  public var isValid: Bool { type != .unknown }

  /// Whether the number has a length of its country's, country code included.
  public var isPossible: Bool { possibility == .possible }

  /// Safe to log: see `Redaction.phoneNumber`.
  public var redacted: String { Redaction.phoneNumber(e164) }

  /// Whether a text has the form of E.164: + and 7 to 15 digits, the first not 0. Says no more: see
  /// ``possibility(ofE164:)``.
  public static func isE164(_ text: String) -> Bool {
    let digits = text.utf8.dropFirst()
    guard text.utf8.first == UInt8(ascii: "+"), (7...15).contains(digits.count), digits.first != UInt8(ascii: "0")
    else { return false }
    return digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  public var description: String { redacted }
  public var debugDescription: String { redacted }
  public var customMirror: Mirror { Mirror(self, children: ["redacted": redacted, "type": type.rawValue]) }
}

extension PhoneNumber: Hashable {
  public static func == (a: PhoneNumber, b: PhoneNumber) -> Bool { a.e164 == b.e164 }

  public func hash(into hasher: inout Hasher) { hasher.combine(e164) }
}

/// Reason why a text is not a phone number. Its description is safe to log: it never repeats the text.
public struct PhoneNumberError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Kind of fault. May grow.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case notANumber, missingRegion, unknownRegion, invalidCountryCode, tooShort, tooLong, hasExtension, privateNumber,
        unavailable
    }

    private let kind: Kind

    /// The text is empty, or has characters that no number is written with.
    public static let notANumber = Code(kind: .notANumber)
    /// The number has no country code, and no region was given.
    public static let missingRegion = Code(kind: .missingRegion)
    /// The given region does not exist.
    public static let unknownRegion = Code(kind: .unknownRegion)
    /// No country has the number's country code.
    // swift-format-ignore: DontRepeatTypeInStaticProperties
    public static let invalidCountryCode = Code(kind: .invalidCountryCode)
    /// The number has too few digits for any number.
    public static let tooShort = Code(kind: .tooShort)
    /// The number has too many digits for any number, or the text too many characters.
    public static let tooLong = Code(kind: .tooLong)
    /// An extension follows the number: no message reaches one.
    public static let hasExtension = Code(kind: .hasExtension)
    /// The number belongs to a private network: its `tel:` URI names a domain only.
    public static let privateNumber = Code(kind: .privateNumber)
    /// The library failed. It has no memory, most likely.
    public static let unavailable = Code(kind: .unavailable)

    public var description: String { kind.rawValue }
  }

  /// Kind of fault.
  public let code: Code

  init(_ code: Code) {
    self.code = code
  }

  /// Whether the same call may succeed later.
  public var isRetriable: Bool { code == .unavailable }

  /// Fault and remedy, for the person who entered the number.
  public var description: String {
    switch code {
    case .notANumber: "this is not a phone number: write it as + and digits, the country code first"
    case .missingRegion: "the country code is missing: begin with + and the country code, or name the region"
    case .unknownRegion: "the region is none: give the two letters of ISO 3166-1, such as US or DE"
    case .invalidCountryCode: "no country has this country code"
    case .tooShort: "the number has too few digits"
    case .tooLong: "the number has too many digits"
    case .hasExtension: "a number with an extension cannot receive messages: leave the extension out"
    case .privateNumber:
      "this is a number of a private network: write the public one as + and digits, the country code first"
    case .unavailable: "phone numbers cannot be read now: try again"
    default: "this is not a phone number"
    }
  }
}

import CPhoneNumber

extension PhoneNumber {
  /// Parses a number. Synchronous and safe on every thread; takes 20 to 40 µs.
  ///
  /// A number that parses need not be valid, nor possible: look at ``type``, ``possibility`` and ``isValid``.
  /// - Parameters:
  ///   - text: + and the number with its country code, or a national number when a region is given. Spaces, hyphens,
  ///     dots, slashes, parentheses and the digits of every script are taken; letters and extensions are not. Either
  ///     may be a `tel:` URI (RFC 3966).
  ///   - region: two letters of ISO 3166-1, in either case; the region of a number without country code.
  /// - Throws: ``PhoneNumberError``.
  public static func parse(_ text: String, region: String? = nil) throws(PhoneNumberError) -> PhoneNumber {
    guard text.utf8.count <= maxInputBytes else { throw PhoneNumberError(.tooLong) }
    let region = try region.map { region throws(PhoneNumberError) in try normalized(region) }
    var number = cpn_number()
    var text = TelURI.isOne(text) ? try TelURI.number(text) : text
    let status = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        // An empty text may have no address.
        characters.baseAddress.map { cpn_parse($0, characters.count, region ?? "", &number) } ?? Int32(CPN_NOT_A_NUMBER)
      }
    }
    try check(status, hasRegion: region != nil, text)
    guard !number.has_extension else { throw PhoneNumberError(.hasExtension) }
    // The library skips unknown characters before and after the digits, but a typing mistake must not become a number.
    guard text.unicodeScalars.allSatisfy(isAllowed) else { throw PhoneNumberError(.notANumber) }
    return try PhoneNumber(number)
  }

  private init(_ number: cpn_number) throws(PhoneNumberError) {
    e164 = withUnsafeBytes(of: number.e164, Self.string)
    guard e164.utf8.count > 1 else { throw PhoneNumberError(.notANumber) }
    countryCode = Int(number.country_code)
    let region = withUnsafeBytes(of: number.region, Self.string)
    let main = withUnsafeBytes(of: number.main_region, Self.string)
    self.region = region.isEmpty ? nil : region
    countryCodeRegion = main.isEmpty ? nil : main
    type = NumberType(code: number.type)
    possibility = Possibility(code: number.possibility)
  }

  /// The same digits with facts that the library does not know.
  init(_ number: PhoneNumber, region: String?, type: NumberType, possibility: Possibility) {
    e164 = number.e164
    countryCode = number.countryCode
    self.region = region
    countryCodeRegion = number.countryCodeRegion
    self.type = type
    self.possibility = possibility
  }

  private static func normalized(_ region: String) throws(PhoneNumberError) -> String {
    let region = region.uppercased()
    guard region.utf8.count == 2, region.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
    else {
      throw PhoneNumberError(.unknownRegion)
    }
    return region
  }

  private static func check(_ status: Int32, hasRegion: Bool, _ text: String) throws(PhoneNumberError) {
    switch Int(status) {
    case CPN_OK: return
    case CPN_INVALID_COUNTRY_CODE:
      // The library says so too of a number that has no country code at all.
      let begins = text.unicodeScalars.contains { $0 == "+" || $0 == "\u{FF0B}" }
      throw PhoneNumberError(hasRegion || begins ? .invalidCountryCode : .missingRegion)
    case CPN_TOO_SHORT_AFTER_IDD, CPN_TOO_SHORT_NSN: throw PhoneNumberError(.tooShort)
    case CPN_TOO_LONG_NSN: throw PhoneNumberError(.tooLong)
    case CPN_UNKNOWN_REGION: throw PhoneNumberError(.unknownRegion)
    case CPN_EXCEPTION: throw PhoneNumberError(.unavailable)
    default: throw PhoneNumberError(.notANumber)
    }
  }

  /// Digits of every script, plus signs and separators. Also the invisible direction marks that come along when a
  /// number is copied.
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "0"..."9", "+", " ", "-", "(", ")", ".", "/": return true
    case "\u{FF0B}", "\u{FF0E}", "\u{FF0F}", "~", "\u{223C}", "\u{FF5E}", "\t": return true
    default: break
    }
    guard !scalar.isASCII || scalar == "[" || scalar == "]" else { return false }
    switch scalar.properties.generalCategory {
    case .decimalNumber, .spaceSeparator, .dashPunctuation, .openPunctuation, .closePunctuation, .format: return true
    default: return false
    }
  }

  private static func string(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }
}

/// Names of regions as configurations have them: two letters of ISO 3166-1, or the calling code of numbers without a
/// country.
public enum RegionName {
  /// Explanation why a name is not a region, with the intended name if it can be guessed. `nil` for a region.
  ///
  /// A wrong name that is let through refuses every number of the country that was meant.
  public static func problem(with name: String) -> String? {
    if isCallingCode(name) { return nil }
    if isCode(name), isKnown(name) { return nil }
    let meant = meant(by: name).map { ": did you mean \($0)?" } ?? ""
    return "\(shown(name)) is not a region's code of ISO 3166-1, such as US, nor a calling code, such as +883\(meant)"
  }

  /// Names that people take for codes of ISO 3166-1: of the internet, of the European Union, of languages.
  private static let mistaken = [
    "UK": "GB", "EN": "GB", "EL": "GR", "CS": "CZ", "DA": "DK", "JA": "JP", "KO": "KR", "ZH": "CN", "SF": "FI",
    "GBR": "GB", "USA": "US", "DEU": "DE", "FRA": "FR", "ESP": "ES", "ITA": "IT", "IND": "IN", "BRA": "BR", "JPN": "JP",
  ]

  /// Regions of ISO 3166-1 without numbers of their own, accepted because complete lists contain them.
  private static let withoutNumbers: Set = ["AQ", "BV", "GS", "HM", "PN", "TF", "UM"]

  private static func meant(by name: String) -> String? {
    let upper = name.uppercased()
    if let meant = mistaken[upper] { return meant }
    return upper != name && isCode(upper) && isKnown(upper) ? upper : nil
  }

  private static func isKnown(_ code: String) -> Bool {
    if withoutNumbers.contains(code) { return true }
    do {
      // Any national number will do: the region is looked up first.
      _ = try PhoneNumber.parse("1234567", region: code)
      return true
    } catch {
      return error.code != .unknownRegion
    }
  }

  private static func isCode(_ name: String) -> Bool {
    name.utf8.count == 2 && name.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
  }

  private static func isCallingCode(_ name: String) -> Bool {
    let bytes = name.utf8
    return bytes.first == UInt8(ascii: "+") && (2...4).contains(bytes.count)
      && bytes.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  private static func shown(_ name: String) -> String {
    name.count > 20 ? "\(name.prefix(20))…" : name
  }
}

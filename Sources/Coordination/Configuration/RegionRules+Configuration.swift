import PhoneNumbers
import ServiceRuntime

extension RegionRules {
  /// - Parameter section: the section `regions`.
  init(_ section: ConfigurationSection) {
    let allowed = section.strings(
      "allowed", "Regions that messages may go to: codes of ISO 3166-1, calling codes without a country, or * for all.")
    for name in allowed where !Self.isRegion(name) {
      section.problem("allowed", "must hold codes such as US or +883, or *")
    }
    if allowed.isEmpty {
      section.warning("allowed", "is empty, so no message is sent: name the countries where your users are")
    }
    self.init(allowed: Set(allowed), refusedTypes: Self.types(section))
  }

  private static func types(_ section: ConfigurationSection) -> Set<NumberType> {
    let names = section.strings(
      "refusedTypes", default: ["fixedLine", "voip"],
      "Types of number that get no message, beside those that never do.")
    let valid = NumberType.allCases.map(\.rawValue)
    return Set(
      names.compactMap { name in
        if let type = NumberType(rawValue: name) { return type }
        let nearest = NearestName.of(name, among: valid).map { " (did you mean \($0)?)" } ?? ""
        section.problem("refusedTypes", "must hold types of number: \(valid.joined(separator: ", "))\(nearest)")
        return nil
      })
  }

  /// Whether it has the form of a region: US, +883, or * for all.
  static func isRegion(_ name: String) -> Bool {
    if name == "*" { return true }
    let bytes = name.utf8
    if bytes.first == UInt8(ascii: "+") {
      return (2...4).contains(bytes.count)
        && bytes.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
    return bytes.count == 2 && bytes.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
  }
}

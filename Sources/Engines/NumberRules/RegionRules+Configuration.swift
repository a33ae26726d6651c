public import PhoneNumbers
public import ServiceRuntime

extension RegionRules {
  /// Reads the rules of coordinator and sms-worker.
  /// - Parameters:
  ///   - section: the section `regions`.
  ///   - mustNameSome: whether an empty list of regions is an error instead of a warning.
  public init(_ section: ConfigurationSection, mustNameSome: Bool = false) {
    let allowed = section.strings(
      "allowed", "Regions that messages may go to: codes of ISO 3166-1, calling codes without a country, or * for all.")
    section.checkRegions("allowed", allowed.filter { $0 != "*" })
    if allowed.isEmpty {
      let text =
        "is empty, so no message is sent: name the countries where your users are"
      if mustNameSome {
        section.problem("allowed", "\(text), as the coordinator's regions.allowed does, or [\"*\"] for all")
      } else {
        section.warning("allowed", text)
      }
    }
    self.init(allowed: Set(allowed), refusedTypes: Self.types(section))
  }

  private static func types(_ section: ConfigurationSection) -> Set<NumberType> {
    let names = section.strings(
      "refusedTypes", default: ["fixedLine", "voip"],
      "Types of number that get no message, in addition to those that never do.")
    let valid = NumberType.allCases.map(\.rawValue)
    return Set(
      names.compactMap { name in
        if let type = NumberType(rawValue: name) { return type }
        let nearest = NearestName.of(name, among: valid).map { " (did you mean \($0)?)" } ?? ""
        section.problem("refusedTypes", "must hold types of number: \(valid.joined(separator: ", "))\(nearest)")
        return nil
      })
  }
}

extension ConfigurationSection {
  /// Reports the first name of a list that is not a region.
  public func checkRegions(_ key: String, _ names: some Sequence<String>) {
    for name in names {
      if let problem = RegionName.problem(with: name) { return self.problem(key, "must name regions: \(problem)") }
    }
  }
}

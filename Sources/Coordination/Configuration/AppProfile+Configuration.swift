import PhoneNumbers
import ServiceRuntime

extension AppProfile {
  /// - Parameter section: the top of the configuration.
  static func read(_ section: ConfigurationSection) -> [String: AppProfile] {
    let sections = section.namedSections("apps", "The apps whose users are verified, by their bundle ID.")
    if sections.isEmpty { section.warning("apps", "is empty, so nobody can start a verification") }
    return Dictionary(uniqueKeysWithValues: sections.map { ($0.name, AppProfile($0.name, $0.section)) })
  }

  private init(_ id: String, _ section: ConfigurationSection) {
    self.init(
      id: id, name: section.string("name", "The app's name, as it stands in the message."),
      domain: section.optionalString(
        "domain", "The domain that phones bind the code to when they fill it in by themselves."),
      languageCode: section.optionalString(
        "languageCode", "The language of the message where the command names none, BCP 47."),
      template: section.string("template", default: "verification", "The template of the SMS worker."),
      verification: Self.verification(section), fictionalNumbers: Self.fictionalNumbers(section))
  }

  private static func verification(_ section: ConfigurationSection) -> AppVerification {
    let help = "off: only fictional numbers complete; trusted: the service that asks vouches for its client."
    let word = section.string("verification", help)
    if let verification = AppVerification(rawValue: word) { return verification }
    guard !word.isEmpty else { return .off }
    let words = AppVerification.allCases.map(\.rawValue).joined(separator: " or ")
    if laterVerifications.contains(word) {
      section.problem("verification", "'\(word)' is not available in this version: set it to \(words)")
    } else {
      section.problem("verification", "must be \(words)")
    }
    return .off
  }

  /// Words of the design that come with the push worker.
  private static let laterVerifications: Set<String> = ["push", "recaptcha", "audit"]

  private static func fictionalNumbers(_ section: ConfigurationSection) -> [String: String] {
    let key = "fictionalNumbers"
    let numbers = section.stringMap(
      key, "Numbers that get no message, with their fixed codes of six digits: at most ten.")
    if numbers.count > maxFictionalNumbers {
      section.problem(key, "has \(numbers.count) numbers: at most \(maxFictionalNumbers) are allowed")
    }
    for (number, code) in numbers.sorted(by: { $0.key < $1.key }) {
      check(number, code, key, section)
    }
    return numbers
  }

  private static func check(_ number: String, _ code: String, _ key: String, _ section: ConfigurationSection) {
    let place = "\(key).\(number)"
    let isCode =
      code.utf8.count == fictionalCodeLength
      && code.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    if !isCode { section.problem(place, "needs a code of \(fictionalCodeLength) digits") }
    do {
      let parsed = try PhoneNumber.parse(number)
      if !parsed.isPossible || parsed.e164 != number {
        section.problem(place, "is no phone number in E.164, such as +16505550123")
      } else if !parsed.isReservedForFiction {
        section.warning(
          place, "is not in a range that its numbering plan reserves for fiction: it may be somebody's number")
      }
    } catch {
      section.problem(place, "is no phone number in E.164: \(error)")
    }
  }
}

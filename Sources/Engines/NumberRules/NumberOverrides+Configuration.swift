import CountersignEncoding
import FoundationEssentials
public import PhoneNumbers
public import ServiceRuntime

extension NumberOverrides {
  /// A larger file is not a table of overrides.
  private static let maxFileBytes = 4 * 1024 * 1024

  /// Reads the table that a configuration names.
  /// - Parameter section: the top of the configuration. Problems are reported to it.
  public static func read(_ section: ConfigurationSection) -> NumberOverrides {
    let key = "numberOverrides"
    let help = "The table of changes newer than libphonenumber's metadata; none if absent."
    guard let path = section.path(key, help) else { return .none }
    do {
      let data = try Data(contentsOf: URL(filePath: path))
      guard data.count <= maxFileBytes else {
        section.problem(key, "\(path) is larger than \(maxFileBytes) bytes")
        return .none
      }
      return try JSONReader(maxBytes: maxFileBytes, syntax: .json5).decode(NumberOverrides.self, from: data)
    } catch let error as JSONRefusal {
      section.problem(key, "\(path) \(error); make it with deploy/renew-number-overrides")
    } catch let error as DecodingError {
      section.problem(
        key, "\(path) is not a table of numbers: \(text(of: error)); make it with deploy/renew-number-overrides")
    } catch {
      section.problem(key, "cannot read \(path): check that it exists and that this user may read it")
    }
    return .none
  }

  private static func text(of error: DecodingError) -> String {
    switch error {
    case .dataCorrupted(let context): context.debugDescription
    case .keyNotFound(let key, _): "\(key.stringValue) is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context): context.debugDescription
    @unknown default: "it cannot be decoded"
    }
  }
}

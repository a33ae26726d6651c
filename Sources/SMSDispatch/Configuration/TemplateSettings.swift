import ServiceRuntime

/// The section `templates`.
public struct TemplateSettings: Sendable, Hashable {
  /// The directory of `<language>.json`.
  public let directory: String
  /// The language for everybody whose own is not there.
  public let defaultLanguage: String
  /// The name for jobs that bring none.
  public let appName: String?

  init(_ section: ConfigurationSection) {
    directory = section.path(
      "directory", default: "templates/sms", "The directory with a <language>.json for each language.")
    defaultLanguage = section.string(
      "defaultLanguage", default: "en", "The language for everybody whose own is not there.")
    appName = section.optionalString("appName", "The name for jobs that bring no variables.appName.")
    if let appName, let problem = TemplateVariable.appName.problem(with: appName) {
      section.problem("appName", problem)
    }
  }
}

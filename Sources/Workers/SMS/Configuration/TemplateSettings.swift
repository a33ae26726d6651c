import ServiceRuntime

/// The section `templates`.
public struct TemplateSettings: Sendable {
  /// The directory of `<language>.json`.
  public let directory: String
  /// The language for everybody whose own is not there.
  public let defaultLanguage: String
  /// The name for jobs that bring none.
  public let appName: String?
  /// What the files hold; nil when one is wrong, which is reported.
  let templates: SMSTemplates?

  init(_ section: ConfigurationSection) {
    directory = section.path(
      "directory", default: "templates/sms", "The directory with a <language>.json for each language.")
    defaultLanguage = section.string(
      "defaultLanguage", default: "en", "The language for everybody whose own is not there.")
    appName = section.optionalString("appName", "The name for jobs that bring no variables.appName.")
    templates = Self.read(directory, defaultLanguage, section)
    if let appName, let problem = TemplateVariable.appName.problem(with: appName) {
      section.problem("appName", problem)
    }
  }

  /// Read with the configuration, so that `--check` finds what is wrong with them.
  private static func read(_ directory: String, _ language: String, _ section: ConfigurationSection) -> SMSTemplates? {
    do {
      return try SMSTemplates(directory: directory, defaultLanguage: language)
    } catch {
      section.problem("directory", error.message)
      return nil
    }
  }
}

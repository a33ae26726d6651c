import JobEngine
import ServiceRuntime

/// The section `templates`.
public struct MailTemplateSettings: Sendable {
  /// The name for jobs that bring none.
  public let appName: String?
  /// What the files hold; nil when one is wrong, which is reported.
  public let templates: MailTemplates?

  init(_ section: ConfigurationSection) {
    let directory = section.path(
      "directory", default: "templates/mail",
      "The directory with a <language>.json for each language, and layout.html.")
    let language = section.string(
      "defaultLanguage", default: "en", "The language for everybody whose own is not there.")
    appName = section.optionalString("appName", "The name for jobs that bring no variables.appName.")
    if let appName, let problem = MailVariable.appName.problem(with: appName) { section.problem("appName", problem) }
    do {
      templates = try MailTemplates(directory: directory, defaultLanguage: language)
    } catch {
      section.problem("directory", error.message)
      templates = nil
    }
  }
}

import JobEngine
import ServiceRuntime

/// The section `templates`.
struct TemplateSettings: Sendable {
  /// Directory of the files `<language>.json`.
  let directory: String
  /// Fallback language.
  let defaultLanguage: String
  /// App name for jobs without one.
  let appName: String?
  /// `nil` if one has a problem, which is reported.
  let templates: SMSTemplates?

  init(_ section: ConfigurationSection) {
    directory = section.path(
      "directory", default: "templates/sms", "The directory with a <language>.json for each language.")
    defaultLanguage = section.string(
      "defaultLanguage", default: "en", "The language for jobs whose own has no file.")
    appName = section.optionalString("appName", "The name for jobs without variables.appName.")
    templates = section.read(
      "directory", try SMSTemplates(directory: directory, defaultLanguage: defaultLanguage))
    if let appName, let problem = SMSVariables.appName(appName) {
      section.problem("appName", problem)
    }
  }
}

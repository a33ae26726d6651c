import JobEngine
import ServiceRuntime

/// The tables of all providers, from `providersDirectory`.
struct ProviderTables: Sendable {
  let apns: ProviderTable
  let recaptcha: ProviderTable
  let googleOAuth: ProviderTable

  /// Reads them with the configuration, so that `--check` finds what is wrong with them. Problems are reported to the section.
  init(_ section: ConfigurationSection) {
    let directory = section.path(
      "providersDirectory", default: "providers", "The directory with apns.json5, recaptcha.json5, google-oauth.json5.")
    apns = Self.read("\(directory)/apns.json5", section)
    recaptcha = Self.read("\(directory)/recaptcha.json5", section)
    googleOAuth = Self.read("\(directory)/google-oauth.json5", section)
  }

  private static func read(_ path: String, _ section: ConfigurationSection) -> ProviderTable {
    do {
      return try ProviderTable(file: path)
    } catch {
      section.problem("providersDirectory", error.message)
      return ProviderTable()
    }
  }
}

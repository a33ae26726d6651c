import ServiceRuntime
import WorkerRuntime

/// The tables of all providers, from `providersDirectory`.
struct ProviderTables: Sendable {
  let twilio: ProviderTable
  let webhook: ProviderTable
  let smpp: ProviderTable
  let vonage: ProviderTable
  let messageBird: ProviderTable
  let aws: ProviderTable

  /// Reads them with the configuration, so that `--check` finds what is wrong with them. Problems are reported to the section.
  init(_ section: ConfigurationSection) {
    let directory = section.path(
      "providersDirectory", default: "providers", "The directory with the providers' tables.")
    twilio = Self.read("\(directory)/twilio.json5", section)
    webhook = Self.read("\(directory)/webhook.json5", section)
    smpp = Self.read("\(directory)/smpp.json5", section)
    vonage = Self.read("\(directory)/vonage.json5", section)
    messageBird = Self.read("\(directory)/messagebird.json5", section)
    aws = Self.read("\(directory)/aws.json5", section)
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

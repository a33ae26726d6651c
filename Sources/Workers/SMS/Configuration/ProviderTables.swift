import JobEngine
import ServiceRuntime

/// The tables of all providers, from `providersDirectory`.
struct ProviderTables: Sendable {
  let twilio: ProviderTable
  let webhook: ProviderTable
  let smpp: ProviderTable
  let vonage: ProviderTable
  let messageBird: ProviderTable
  let aws: ProviderTable

  /// The sections that each provider's table must have.
  static let sections: [String: Set<ProviderTable.Section>] = [
    "twilio": [.codes, .statuses], "webhook": [.statuses], "smpp": [.codes], "vonage": [.codes, .statuses, .receipts],
    "messagebird": [.codes, .statuses, .receipts], "aws": [.codes, .statuses],
  ]

  /// Reads them with the configuration, so that `--check` finds what is wrong with them. Problems are reported to the section.
  init(_ section: ConfigurationSection) {
    let directory = section.path(
      "providersDirectory", default: "providers", "The directory with the providers' tables.")
    func read(_ name: String) -> ProviderTable {
      do {
        return try Self.read(name, directory: directory)
      } catch {
        section.problem("providersDirectory", error.message)
        return ProviderTable()
      }
    }
    twilio = read("twilio")
    webhook = read("webhook")
    smpp = read("smpp")
    vonage = read("vonage")
    messageBird = read("messagebird")
    aws = read("aws")
  }

  /// One provider's table.
  static func read(_ name: String, directory: String) throws(WorkerError) -> ProviderTable {
    try ProviderTable(file: "\(directory)/\(name).json5", sections: sections[name] ?? [])
  }
}

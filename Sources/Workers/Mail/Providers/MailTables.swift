import JobEngine
import ServiceRuntime

/// The tables of the lanes' providers, each read by its provider.
struct MailTables: Sendable {
  private var tables: [String: any Sendable] = [:]

  /// Reads the tables with the configuration, so that `--check` finds their problems, which are reported to the
  /// section.
  init(_ section: ConfigurationSection, directory: String, _ providers: [any MailProvider]) {
    var known: Set<String> = []
    for provider in providers where known.insert(type(of: provider).typeName).inserted {
      do throws(WorkerError) {
        try read(by: provider, directory)
      } catch {
        section.problem("providersDirectory", error.message)
      }
    }
  }

  private mutating func read<Provider: MailProvider>(
    by provider: Provider, _ directory: String
  ) throws(WorkerError) {
    tables[Provider.typeName] = try Provider.readTable("\(directory)/\(Provider.tableFile)")
  }

  func makeLane<Provider: MailProvider>(
    _ provider: Provider, _ context: MailLaneContext
  ) throws(WorkerError) -> any MailLane {
    guard let table = tables[Provider.typeName] as? Provider.Table else {
      throw WorkerError(.invalidConfiguration, "providersDirectory: \(Provider.tableFile) has problems")
    }
    return try provider.makeLane(context, table)
  }
}

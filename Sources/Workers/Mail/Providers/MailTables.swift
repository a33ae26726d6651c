import JobEngine
import ServiceRuntime

/// The tables of the lanes' providers, each read by its provider.
struct MailTables: Sendable {
  private var tables: [String: any Sendable] = [:]

  /// Reads the tables with the configuration, so that `--check` finds their problems, which are reported to the
  /// section.
  ///
  /// - Parameters:
  ///   - section: section with the key `providersDirectory`.
  ///   - directory: value of that key.
  ///   - providers: providers of the lanes; the table of several lanes is read once.
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

  /// Makes a lane with the table of its provider.
  ///
  /// - Throws: when the table had a problem, which was reported, or the lane cannot be made.
  func makeLane<Provider: MailProvider>(
    _ provider: Provider, _ context: MailLaneContext
  ) throws(WorkerError) -> any MailLane {
    guard let table = tables[Provider.typeName] as? Provider.Table else {
      throw WorkerError(.invalidConfiguration, "providersDirectory: \(Provider.tableFile) has problems")
    }
    return try provider.makeLane(context, table)
  }
}

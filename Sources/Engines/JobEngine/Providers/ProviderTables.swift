public import ServiceRuntime

/// The tables of a worker's providers, read from `providersDirectory`.
public struct ProviderTables: Sendable {
  /// A table as its provider declares it.
  public struct Source: Sendable, Hashable {
    /// Name of the file, without its suffix.
    public let name: String
    /// Sections the file must have.
    public let sections: Set<ProviderTable.Section>

    public init(_ name: String, sections: Set<ProviderTable.Section> = [.codes, .statuses]) {
      self.name = name
      self.sections = sections
    }

    /// Name of the file.
    public var fileName: String { name + ".json5" }

    /// Reads the table.
    public func read(directory: String) throws(WorkerError) -> ProviderTable {
      try ProviderTable(file: "\(directory)/\(fileName)", sections: sections)
    }
  }

  private let tables: [Source: ProviderTable]

  /// Reads the tables with the configuration, so that `--check` finds their problems, which are reported to the
  /// section.
  ///
  /// - Parameters:
  ///   - section: section with the key `providersDirectory`.
  ///   - sources: tables of the worker's providers; one that several share is read once.
  public init(_ section: ConfigurationSection, _ sources: [Source]) {
    let directory = Self.directory(section, files: sources.map(\.fileName))
    var tables: [Source: ProviderTable] = [:]
    for source in sources where tables[source] == nil {
      tables[source] = section.read("providersDirectory", try source.read(directory: directory))
    }
    self.tables = tables
  }

  public init(_ tables: [Source: ProviderTable]) {
    self.tables = tables
  }

  /// A provider's table. An empty one for a table with a problem, which was reported.
  public subscript(source: Source) -> ProviderTable { tables[source] ?? ProviderTable() }

  /// Directory of the tables, from the key `providersDirectory`.
  ///
  /// - Parameter files: names of the files the worker reads there.
  public static func directory(_ section: ConfigurationSection, files: [String]) -> String {
    var names: [String] = []
    for file in files where !names.contains(file) { names.append(file) }
    return section.path(
      "providersDirectory", default: "providers",
      "The directory with the providers' tables: \(names.joined(separator: ", ")).")
  }
}

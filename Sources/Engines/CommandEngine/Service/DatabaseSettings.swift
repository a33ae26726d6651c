public import SQLite
public import ServiceRuntime

/// The section `database` of a stateful service.
public enum DatabaseSettings: Sendable {
  /// A file, for one process.
  case sqlite(path: String, options: DatabaseOptions)
  /// A database of a server, for any number of processes.
  case postgresql(PostgreSQLSettings)

  private enum Kind: String, CaseIterable {
    case sqlite, postgresql
  }

  private enum Durability: String, CaseIterable {
    case full, normal

    var option: DatabaseOptions.Synchronous {
      switch self {
      case .full: .full
      case .normal: .normal
      }
    }
  }

  /// Reads the section. Problems are reported to it.
  /// - Parameters:
  ///   - section: the section `database`.
  ///   - process: a process of the service, in texts for operators: `coordinator`.
  ///   - defaultPath: the file, unless the section names one.
  public init(_ section: ConfigurationSection, of process: String, defaultPath: String) {
    let kind: Kind = section.word(
      "type", default: .sqlite,
      "sqlite: a file, for one \(process); postgresql: a database, for any number of them.")
    let path = section.path("path", default: defaultPath, "The SQLite file; its directory must exist.")
    var options = DatabaseOptions(
      synchronous: section.word(
        "synchronous", default: Durability.full,
        "full: a commit survives the loss of power; normal: the death of the process only."
      ).option)
    // Records and message IDs are looked up at random places.
    options.cacheKiB =
      1024
      * section.integer(
        "cacheMiB", default: 16, in: 1...1024, "Memory for pages of the file, at most, for the writer and each reader.")
    if let settings = PostgreSQLSettings.read(section, isUsed: kind == .postgresql, hasReaders: true) {
      self = .postgresql(settings)
    } else {
      options.readers = section.integer(
        "readers", default: 2, in: 1...8, "Connections that read beside the one that writes.")
      self = .sqlite(path: path, options: options)
    }
  }
}

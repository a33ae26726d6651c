/// The configuration of a process. Its initializer is its schema: the keys, their types, ranges, defaults and meaning.
///
/// ```swift
/// struct MailWorkerConfiguration: ProcessConfiguration {
///   let common: CommonConfiguration
///   let prefetch: Int
///   let relay: Relay
///
///   init(_ section: ConfigurationSection) {
///     common = CommonConfiguration(section, defaultHTTPPort: 8084)
///     prefetch = section.integer("prefetch", default: 256, in: 1...10_000, "Jobs taken from the queue ahead.")
///     relay = Relay(section.section("relay"))
///   }
/// }
/// ```
///
/// There is nothing else to do: keys that the initializer does not ask for are reported as unknown with the nearest
/// known one, each key can be overridden by an environment variable (`relay.passwordFile` by
/// `COUNTERSIGN_RELAY_PASSWORD_FILE`), every problem is reported at once, and `--keys` lists the keys. Rules between
/// values are checked at the end of the initializer and reported with ``ConfigurationSection/problem(_:_:)``.
public protocol Configuration: Sendable {
  /// Reads the configuration. Problems are reported to the section, and placeholders returned, so this cannot fail.
  init(_ section: ConfigurationSection)
}

/// A loaded configuration.
public struct LoadedConfiguration<Content: Configuration>: Sendable {
  public let content: Content
  /// The file it was read from, if any.
  public let file: String?
  /// Values that are allowed but probably unintended.
  public let warnings: [ConfigurationProblem]
  /// Paths, providers' hosts and words in force, by key: no other text, which might be a secret.
  public var settings: [String: String] = [:]
}

extension Configuration {
  /// Reads the file and the environment. Blocks; meant for the start of a process.
  /// - Parameters:
  ///   - file: the path of a JSON5 file; without one, environment and defaults apply.
  ///   - environment: the variables of the process.
  ///   - read: reads a configuration that depends on more than the section.
  /// - Throws: all problems at once.
  public static func load(
    file: String?, environment: [String: String], read: (ConfigurationSection) -> Self = { Self($0) }
  ) throws(ConfigurationError) -> LoadedConfiguration<Self> {
    var content: ConfigurationFile?
    if let file { content = try ConfigurationFile(path: file) }
    let reader = ConfigurationReader(file: content, environment: environment)
    let configuration = read(ConfigurationSection(reader: reader, path: "", fields: content?.fields ?? [:]))
    reader.reportUnknownKeys()
    reader.reportUnknownVariables()
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    return LoadedConfiguration(content: configuration, file: file, warnings: reader.warnings, settings: reader.settings)
  }

  /// The known keys, in the order in which the initializer asks for them. Keys inside lists and named sections are
  /// listed only when a file has some.
  /// - Throws: an error when the file cannot be read.
  public static func keys(
    file: String? = nil, read: (ConfigurationSection) -> Self = { Self($0) }
  ) throws(ConfigurationError) -> [ConfigurationKey] {
    var content: ConfigurationFile?
    if let file { content = try ConfigurationFile(path: file) }
    let reader = ConfigurationReader(file: content, environment: [:])
    _ = read(ConfigurationSection(reader: reader, path: "", fields: content?.fields ?? [:]))
    return reader.keys
  }
}

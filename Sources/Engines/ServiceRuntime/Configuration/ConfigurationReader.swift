import CountersignEncoding

/// Requesting a key makes it known: a key of the file that was never requested is unknown. So the initializer of a
/// configuration is its schema, and there is no second list to keep in step.
final class ConfigurationReader {
  let file: ConfigurationFile?
  let environment: [String: String]
  private(set) var problems: [ConfigurationProblem] = []
  private(set) var warnings: [ConfigurationProblem] = []
  private(set) var keys: [ConfigurationKey] = []
  /// Paths, hosts of URLs, names and words that were read, by key.
  private(set) var settings: [String: String] = [:]
  private var known: [String: Set<String>] = [:]
  private var given: [String: Set<String>] = [:]

  init(file: ConfigurationFile?, environment: [String: String]) {
    self.file = file
    self.environment = environment
  }

  /// The directory of relative paths: that of the file, or the current one.
  var directory: String {
    guard let path = file?.path, let slash = path.lastIndex(of: "/") else { return "" }
    return String(path[...slash])
  }

  private static let readableSecrets = "allowReadableSecrets"

  var allowsReadableSecrets: Bool {
    if let text = variable(ConfigurationKey.variable(for: Self.readableSecrets)) { return text.lowercased() == "true" }
    return file?.fields[Self.readableSecrets] == .bool(true)
  }

  /// Makes that key known, for configurations that name secrets.
  func declareReadableSecrets() {
    let key = ConfigurationKey(
      path: Self.readableSecrets, kind: "true or false, default false",
      help: "Whether files with secrets may be readable by every user of the machine.")
    declare(Self.readableSecrets, in: "", key)
  }

  /// An empty one counts as absent.
  func variable(_ name: String) -> String? {
    environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  func declare(_ name: String, in section: String, _ key: ConfigurationKey?) {
    let isNew = known[section, default: []].insert(name).inserted
    // A key that two readers of a section ask for is listed once.
    if let key, isNew { keys.append(key) }
  }

  func open(section: String, with names: some Sequence<String>) {
    given[section, default: []].formUnion(names)
  }

  /// Keeps a value for the doctor: one that cannot be a secret.
  func keep(_ value: String, for path: String) { settings[path] = value }

  func report(_ path: String, _ text: String, isPermission: Bool = false) {
    problems.append(ConfigurationProblem(place(of: path), text, isPermission: isPermission))
  }

  func warn(_ path: String, _ text: String) {
    warnings.append(ConfigurationProblem(place(of: path), text))
  }

  private func place(of path: String) -> String {
    let variable = ConfigurationKey.variable(for: path)
    if self.variable(variable) != nil { return "\(variable) (overrides \(path))" }
    return file.map { "\($0.path): \(path)" } ?? path
  }

  func reportUnknownKeys() {
    for (section, names) in given.sorted(by: { $0.key < $1.key }) {
      let valid = known[section] ?? []
      for name in names.subtracting(valid).sorted() {
        let path = ConfigurationSection.join(section, name)
        problems.append(
          ConfigurationProblem(file.map { "\($0.path): \(path)" } ?? path, "unknown key" + hint(name, section, valid)))
      }
    }
  }

  /// Warns of variables that are probably misspelled. Others may be meant for another program.
  func reportUnknownVariables() {
    let prefix = "COUNTERSIGN_"
    let valid = Dictionary(keys.map { (ConfigurationKey.variable(for: $0.path), $0.path) }) { first, _ in first }
    let stems = valid.keys.map { $0.dropFirst(prefix.count) }.map(String.init)
    for name in environment.keys.sorted() where name.hasPrefix(prefix) && valid[name] == nil {
      guard let stem = NearestName.of(String(name.dropFirst(prefix.count)), among: stems),
        abs(stem.count + prefix.count - name.count) <= Self.maxLettersApart, let path = valid[prefix + stem]
      else { continue }
      warnings.append(
        ConfigurationProblem(name, "stands for no key (did you mean \(prefix + stem), which overrides \(path)?)"))
    }
  }

  /// Largest difference in length of a variable that is taken for a misspelled one.
  private static let maxLettersApart = 2

  private func hint(_ name: String, _ section: String, _ valid: Set<String>) -> String {
    if let nearest = NearestName.of(name, among: valid) {
      return " (did you mean \(ConfigurationSection.join(section, nearest))?)"
    }
    let others = known.filter { $0.value.contains(name) }.map { ConfigurationSection.join($0.key, name) }.sorted()
    if let other = others.first { return " (did you mean \(other)?)" }
    return "; known here are \(valid.sorted().joined(separator: ", "))"
  }
}

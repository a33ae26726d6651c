import PostgreSQL
import ServiceRuntime

extension LiveBackend {
  func diagnoseDatabases(configDirectory: String?, timeout: Duration) async -> [Finding] {
    let check = "database"
    guard let directory = configDirectory ?? configuration.configDirectory else {
      return [
        Finding(
          check, .skipped, "the directory of the configuration files is not known",
          hint: "give --config-dir, or set COUNTERSIGN_CONFIG_DIR; or name one database by --url")
      ]
    }
    // The command's own files: no server is asked.
    guard let files = try? ConfigurationFiles(directory: directory) else {
      return [Finding(check, .failed, "the directory \(directory) cannot be read", hint: "name another one")]
    }
    let findings = await databases(files, timeout)
    return findings.isEmpty
      ? [Finding(check, .note, "no configuration file in \(directory) names PostgreSQL")] : findings
  }

  func databases(_ files: ConfigurationFiles, _ timeout: Duration) async -> [Finding] {
    var findings: [Finding] = []
    var uses: [DatabaseUse] = []
    for file in files.files {
      let process = String(file.name.dropLast(".json5".count))
      guard let use = StoreUse(process: process), file.settings != nil else { continue }
      let check = "database of \(process)"
      do throws(ConfigurationError) {
        let path = "\(file.directory)/\(file.name)"
        let loaded = try PostgreSQLSettings.load(file: path, section: use.section, hasReaders: use.hasReaders)
        guard let settings = loaded else { continue }
        DatabaseUse.add(process, settings.endpoint, use.parts, to: &uses)
      } catch {
        findings.append(Finding(check, .failed, error.description, hint: "correct the keys named above"))
      }
    }
    for use in uses {
      findings += await DatabaseCheck(
        name: use.name, endpoint: use.endpoint, parts: use.parts, clock: clock, timeout: timeout,
        process: use.processes.first
      ).findings()
    }
    return findings
  }
}

struct DatabaseUse: Sendable, Hashable {
  let endpoint: PostgreSQLEndpoint
  private(set) var parts: [PostgreSQLSchemaPart]
  private(set) var processes: [String]

  var name: String { "database of " + processes.joined(separator: ", ") }

  static func add(
    _ process: String, _ endpoint: PostgreSQLEndpoint, _ parts: [PostgreSQLSchemaPart], to uses: inout [DatabaseUse]
  ) {
    guard let index = uses.firstIndex(where: { $0.endpoint == endpoint }) else {
      return uses.append(DatabaseUse(endpoint: endpoint, parts: parts, processes: [process]))
    }
    uses[index].processes.append(process)
    uses[index].parts += parts.filter { !uses[index].parts.contains($0) }
  }
}

struct StoreUse {
  let section: String
  let parts: [PostgreSQLSchemaPart]
  let hasReaders: Bool

  init?(process: String) {
    switch process {
    case "coordinator", "accounts", "webhook-worker":
      (section, parts, hasReaders) = ("database", StoreParts.coordinator, true)
    case _ where process.hasSuffix("-worker"): (section, parts, hasReaders) = ("ledger", StoreParts.worker, false)
    default: return nil
    }
  }
}

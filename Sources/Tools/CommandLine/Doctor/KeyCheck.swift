import CountersignCryptography
import FoundationEssentials

/// Compares the sealing keys that the configuration files name: each worker must be able to open the coordinator's
/// seals.
///
/// Keys are compared by ID and by content, and skipped if this user may not read their file. The units of systemd pass
/// the keys to the processes under a different file name.
enum KeyCheck {
  static func findings(_ files: ConfigurationFiles) -> [Finding] {
    guard let coordinator = files.files.first(where: { $0.name == "coordinator.json5" }),
      let sealing = keys(of: coordinator)?.sealing
    else { return [] }
    return files.files.filter { $0.name.hasSuffix("-worker.json5") && $0.settings != nil }
      .map { finding($0, sealing: sealing) }
  }

  private static func finding(_ file: ConfigurationFiles.File, sealing: SymmetricKey) -> Finding {
    let check = "sealing keys of \(file.name)"
    guard file.settings?.contains(where: { $0.path == "keysFile" }) == true else {
      return Finding(
        check, .failed, "it names no keysFile: every secret of the coordinator becomes a dead letter",
        hint: "name the file with the coordinator's keys as keysFile")
    }
    guard let keys = keys(of: file) else {
      return Finding(check, .skipped, "its keysFile cannot be read", hint: "run the doctor as a user that may read it")
    }
    guard let key = keys.opening[sealing.id] else {
      let own = keys.opening.keys.sorted().joined(separator: ", ")
      return Finding(
        check, .failed, "the coordinator seals with the key \(sealing.id), and this file has \(own)",
        hint: "give it the coordinator's keysFile, and start the worker again")
    }
    guard isSame(key, sealing) else {
      return Finding(
        check, .failed, "its key \(sealing.id) differs from the coordinator's key of that name",
        hint: "give it the coordinator's keysFile, and start the worker again")
    }
    return Finding(check, .ok, "they open the coordinator's seals (\(sealing.id))")
  }

  static func isSame(_ one: SymmetricKey, _ other: SymmetricKey) -> Bool {
    one.withUnsafeBytes { first in
      other.withUnsafeBytes { second in constantTimeEquals(Array(first), Array(second)) }
    }
  }

  /// Keys that a file names; `nil` if they cannot be read, which its process explains.
  static func keys(of file: ConfigurationFiles.File) -> KeyRing? {
    guard let setting = file.settings?.first(where: { $0.path == "keysFile" }),
      let data = try? Data(contentsOf: URL(filePath: file.resolve(setting.value)))
    else { return nil }
    return try? KeyRing(jwkSet: Array(data))
  }
}

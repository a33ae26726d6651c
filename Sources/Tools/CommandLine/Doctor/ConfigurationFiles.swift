internal import CountersignEncoding
internal import FoundationEssentials

/// The configuration files of the processes, read without their schemas: what they name, and whether it is there.
///
/// Each process checks its own file completely at its start (`--check`).
struct ConfigurationFiles {
  /// One value of a file.
  struct Setting: Sendable, Hashable {
    /// The keys from the top, `lanes.twilio.baseURL`; the elements of a list have numbers.
    let path: String
    let value: String
  }

  /// One file.
  struct File: Sendable {
    let name: String
    /// The directory that relative paths start from.
    let directory: String
    /// `nil` when it cannot be read, or is no JSON5.
    let settings: [Setting]?
    /// Whole numbers, by their keys from the top.
    var integers: [String: Int64] = [:]
  }

  let files: [File]

  /// Reads every `.json5` file of a directory.
  /// - Throws: when the directory cannot be read.
  init(directory: String) throws(OperationsError) {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch {
      throw OperationsError(.noInput, "the directory \(directory) cannot be read")
    }
    files = names.filter { $0.hasSuffix(".json5") }.sorted().map { Self.read($0, in: directory) }
  }

  private static func read(_ name: String, in directory: String) -> File {
    let reader = JSONReader(maxBytes: InputFile.maxBytes, syntax: .json5)
    // A file that cannot be read, or is no JSON5, is told as such by its absent settings.
    guard let data = try? Data(contentsOf: URL(filePath: "\(directory)/\(name)")),
      let value = try? reader.decode(JSONValue.self, from: data)
    else { return File(name: name, directory: directory, settings: nil) }
    return File(
      name: name, directory: directory, settings: leaves(value, path: ""), integers: integers(value, path: ""))
  }

  private static func integers(_ value: JSONValue, path: String) -> [String: Int64] {
    switch value {
    case .object(let object):
      object.reduce(into: [:]) { found, entry in
        found.merge(integers(entry.value, path: path.isEmpty ? entry.key : "\(path).\(entry.key)")) { first, _ in first
        }
      }
    case .integer(let number): [path: Int64(number)]
    case .array, .text, .null, .bool, .number: [:]
    }
  }

  private static func leaves(_ value: JSONValue, path: String) -> [Setting] {
    switch value {
    case .object(let object):
      object.sorted { $0.key < $1.key }.flatMap { leaves($0.value, path: path.isEmpty ? $0.key : "\(path).\($0.key)") }
    case .array(let array): array.enumerated().flatMap { leaves($0.element, path: "\(path).\($0.offset)") }
    case .text(let text): [Setting(path: path, value: text)]
    case .null, .bool, .integer, .number: []
    }
  }
}

extension ConfigurationFiles.File {
  /// A path of the file as the process sees it.
  func resolve(_ path: String) -> String { path.hasPrefix("/") ? path : "\(directory)/\(path)" }
}

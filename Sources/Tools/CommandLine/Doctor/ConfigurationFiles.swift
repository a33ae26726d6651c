import CountersignEncoding
import FoundationEssentials

/// Configuration files of the processes, read without their schemas, for the files and addresses that they name.
///
/// Each process checks its own file completely when it starts (`--check`).
struct ConfigurationFiles {
  struct Setting: Sendable, Hashable {
    /// Keys from the top, `lanes.twilio.baseURL`. Elements of a list are numbered.
    let path: String
    let value: String
  }

  struct File: Sendable {
    let name: String
    let directory: String
    /// `nil` if the file cannot be read, or is not JSON5.
    let settings: [Setting]?
    /// By their keys from the top.
    var integers: [String: Int64] = [:]
  }

  let files: [File]

  init(files: [File]) { self.files = files }

  init(directory: String) throws(CommandLineError) {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch {
      throw CommandLineError(.noInput, "the directory \(directory) cannot be read")
    }
    files = names.filter { $0.hasSuffix(".json5") }.sorted().map { Self.read($0, in: directory) }
  }

  private static func read(_ name: String, in directory: String) -> File {
    let reader = JSONReader(maxBytes: InputFile.maxBytes, syntax: .json5)
    // Absent settings mark a file that cannot be read or is not JSON5.
    guard let data = try? Data(contentsOf: URL(filePath: "\(directory)/\(name)")),
      let value = try? reader.value(of: data)
    else { return File(name: name, directory: directory, settings: nil) }
    let values = leaves(value, path: "")
    return File(
      name: name, directory: directory,
      settings: values.compactMap { path, value in value.text.map { Setting(path: path, value: $0) } },
      integers: values.reduce(into: [:]) { if case .integer(let number) = $1.value { $0[$1.path] = number } })
  }

  private static func leaves(_ value: JSONValue, path: String) -> [(path: String, value: JSONValue)] {
    switch value {
    case .object(let object):
      object.sorted { $0.key < $1.key }.flatMap { leaves($0.value, path: path.isEmpty ? $0.key : "\(path).\($0.key)") }
    case .array(let array): array.enumerated().flatMap { leaves($0.element, path: "\(path).\($0.offset)") }
    default: [(path, value)]
    }
  }
}

extension ConfigurationFiles.File {
  func resolve(_ path: String) -> String { path.hasPrefix("/") ? path : "\(directory)/\(path)" }
}

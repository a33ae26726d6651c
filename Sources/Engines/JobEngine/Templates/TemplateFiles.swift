import CountersignEncoding
import FoundationEssentials

/// File `<language>.json` of a directory of templates.
public protocol TemplateFile: Decodable, Sendable {
  /// A template as the file writes it.
  associatedtype Source

  /// Language tag (BCP 47), which is also the name of the file.
  var language: String { get }
  /// Further tags that it serves, such as `pt` for `pt-BR`.
  var aliases: [String]? { get }
  /// By name.
  var templates: [String: Source] { get }
}

/// Reads the files of a directory of templates. Blocks, so it is called while the process starts.
public enum TemplateFiles {
  /// Maximum bytes of a file.
  public static let maxBytes = 256 * 1024

  /// Names of the files `<language>.json`, sorted.
  public static func names(in directory: String) throws(WorkerError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".json") }.sorted()
    } catch {
      throw WorkerError(.unreadable, "cannot read the directory \(directory): set templates.directory")
    }
  }

  /// Reads every `<language>.json`.
  ///
  /// - Throws: `.unreadable` if the directory or a file cannot be read or decoded, or there is none.
  public static func read<File: TemplateFile>(_ directory: String) throws(WorkerError) -> [File] {
    var files: [File] = []
    for name in try names(in: directory) { files.append(try read(name, in: directory)) }
    guard !files.isEmpty else {
      throw WorkerError(.unreadable, "\(directory) holds no <language>.json: set templates.directory")
    }
    return files
  }

  /// Reads one of them.
  public static func read<File: TemplateFile>(_ name: String, in directory: String) throws(WorkerError) -> File {
    let path = "\(directory)/\(name)"
    let data = try DataFile.read(path, maxBytes: maxBytes)
    let file: File
    do {
      file = try JSONReader(maxBytes: maxBytes).decode(File.self, from: data)
    } catch {
      throw WorkerError(.unreadable, "\(path): \(DecodingText.describe(error))")
    }
    guard name == file.language + ".json" else {
      throw WorkerError(
        .invalidTemplate, "\(path): language is '\(file.language)', which does not match the file's name")
    }
    return file
  }
}

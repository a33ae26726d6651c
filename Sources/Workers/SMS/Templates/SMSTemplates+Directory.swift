import CountersignEncoding
import FoundationEssentials
public import JobEngine

extension SMSTemplates {
  static let maxFileBytes = 256 * 1024

  /// Reads every `<language>.json` of a directory.
  ///
  /// - Parameters:
  ///   - directory: path of the directory.
  ///   - defaultLanguage: tag of the fallback language.
  /// - Throws: `.unreadable` if the directory or a file cannot be read or decoded, `.invalidTemplate` if a file breaks
  ///   a rule. The message names the file and the fix.
  public init(directory: String, defaultLanguage: String) throws(WorkerError) {
    var files: [TemplateFile] = []
    for name in try Self.fileNames(in: directory) {
      files.append(try Self.read(directory + "/" + name, name))
    }
    guard !files.isEmpty else {
      throw WorkerError(.unreadable, "\(directory) holds no <language>.json: set templates.directory")
    }
    try self.init(files, defaultLanguage: defaultLanguage)
  }

  static func fileNames(in directory: String) throws(WorkerError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".json") }.sorted()
    } catch {
      throw WorkerError(.unreadable, "cannot read the directory \(directory): set templates.directory")
    }
  }

  static func read(_ path: String, _ name: String) throws(WorkerError) -> TemplateFile {
    let data = try data(path)
    let file: TemplateFile
    do {
      file = try JSONReader(maxBytes: maxFileBytes).decode(TemplateFile.self, from: data)
    } catch {
      throw WorkerError(.unreadable, "\(path): \(DecodingText.describe(error))")
    }
    guard name == file.language + ".json" else {
      throw WorkerError(
        .invalidTemplate, "\(path): language is '\(file.language)', which does not match the file's name")
    }
    return file
  }

  private static func data(_ path: String) throws(WorkerError) -> Data {
    do {
      return try DataFile.read(path, maxBytes: maxFileBytes)
    } catch {
      throw WorkerError(.unreadable, error.message)
    }
  }
}

/// Content of a file `<language>.json` in the template directory.
struct TemplateFile: Decodable, Sendable {
  /// Language tag (BCP 47), which is also the name of the file.
  let language: String
  /// Such as `pt` for `pt-BR`.
  let aliases: [String]?
  let templates: [String: Forms]

  /// Best first: the first that fits in one segment is sent.
  struct Forms: Decodable, Sendable {
    let plain: [String]
    /// Without the last line `@domain #code`, which the worker adds.
    let domainBound: [String]
  }
}

import CountersignEncoding
import FoundationEssentials
import JobEngine

extension SMSTemplates {
  /// A file larger than this is not a template file.
  static let maxFileBytes = 256 * 1024

  /// Reads every `<language>.json` of a directory.
  ///
  /// - Throws: `.unreadable` when the directory or a file cannot be read or decoded, `.invalidTemplate` as the initialiser
  ///   says. The message names the file and what to mend.
  public init(directory: String, defaultLanguage: String) throws(SMSDispatchError) {
    var files: [TemplateFile] = []
    for name in try Self.fileNames(in: directory) {
      files.append(try Self.read(directory + "/" + name, name))
    }
    guard !files.isEmpty else {
      throw SMSDispatchError(.unreadable, "\(directory) holds no <language>.json: set templates.directory")
    }
    try self.init(files, defaultLanguage: defaultLanguage)
  }

  static func fileNames(in directory: String) throws(SMSDispatchError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".json") }.sorted()
    } catch {
      throw SMSDispatchError(.unreadable, "cannot read the directory \(directory): set templates.directory")
    }
  }

  static func read(_ path: String, _ name: String) throws(SMSDispatchError) -> TemplateFile {
    let data = try data(path)
    let file: TemplateFile
    do {
      file = try JSONReader(maxBytes: maxFileBytes).decode(TemplateFile.self, from: data)
    } catch {
      throw SMSDispatchError(.unreadable, "\(path): \(DecodingText.describe(error))")
    }
    guard name == file.language + ".json" else {
      throw SMSDispatchError(
        .invalidTemplate, "\(path): language is '\(file.language)', the file's name says otherwise")
    }
    return file
  }

  private static func data(_ path: String) throws(SMSDispatchError) -> Data {
    do {
      return try DataFile.read(path, maxBytes: maxFileBytes)
    } catch {
      throw SMSDispatchError(.unreadable, error.message)
    }
  }
}

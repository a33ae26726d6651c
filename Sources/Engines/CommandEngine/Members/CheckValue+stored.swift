import CountersignEncoding
import ServiceRuntime

extension [CheckValue] {
  var text: String {
    map { "\($0.file) \($0.isUsed ? "used" : "kept") \($0.value) \($0.id)" }.joined(separator: "\n")
  }

  /// Lines that another version wrote in another form are left out.
  init(text: String) {
    self = text.split(separator: "\n").compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count == 4, let code = Hexadecimal.decode(String(parts[2])) else { return nil }
      return CheckValue(file: String(parts[0]), id: String(parts[3]), code: code, isUsed: parts[1] == "used")
    }
  }
}

import CountersignCryptography

func hex(_ text: String) -> [UInt8] {
  let digits = text.compactMap { $0.hexDigitValue.map(UInt8.init) }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

func code<T>(of operation: () throws(JOSEError) -> T) -> JOSEError.Code? {
  do throws(JOSEError) {
    _ = try operation()
    return nil
  } catch {
    return error.code
  }
}

import CountersignTelemetry

extension BinaryFormat {
  struct Values {
    private(set) var bytes: [UInt8] = []
    private(set) var types: [ServerType] = []
    private(set) var places: [Range<Int>?] = []

    init(_ values: [PostgreSQLValue], maxBytes: Int) throws(StoreError) {
      for value in values {
        let start = bytes.count
        let type = try append(value, maxBytes: maxBytes)
        guard bytes.count - start <= maxBytes else {
          throw StoreError(.tooLarge, "a value has \(bytes.count - start) bytes, \(maxBytes) are allowed")
        }
        types.append(type)
        places.append(type == .unspecified ? nil : start..<bytes.count)
      }
      // Empty values need an address too: without one they would be NULL.
      bytes.append(0)
    }

    private mutating func append(_ value: PostgreSQLValue, maxBytes: Int) throws(StoreError) -> ServerType {
      switch value {
      case .null: return .unspecified
      case .bool(let value):
        bytes.append(value ? 1 : 0)
        return .bool
      case .integer(let number):
        appendInteger(number)
        return .int8
      case .text(let text):
        try append(text)
        return .text
      case .bytes(let value):
        bytes += value
        return .bytea
      case .integers(let numbers):
        try appendArray(of: .int8, numbers, maxBytes) { (values, number) in values.appendInteger(number) }
        return .int8Array
      case .texts(let texts):
        try appendArray(of: .text, texts, maxBytes) { (values, text) throws(StoreError) in try values.append(text)
        }
        return .textArray
      case .byteArrays(let arrays):
        try appendArray(of: .bytea, arrays, maxBytes) { (values, array) in values.bytes += array }
        return .byteaArray
      }
    }

    private mutating func append(_ text: String) throws(StoreError) {
      let start = bytes.count
      bytes += text.utf8
      guard !bytes[start...].contains(0) else {
        throw StoreError(.content, "a text contains U+0000, which PostgreSQL cannot store")
      }
    }

    private mutating func appendArray<Element>(
      of type: ServerType, _ elements: [Element?], _ maxBytes: Int,
      _ append: (inout Values, Element) throws(StoreError) -> Void
    ) throws(StoreError) {
      // One dimension, or none for an array without elements.
      appendCount(elements.isEmpty ? 0 : 1)
      appendCount(elements.contains { $0 == nil } ? 1 : 0)
      appendCount(Int(type.number))
      guard !elements.isEmpty else { return }
      // Each has a length of four bytes: more would not fit whatever they are.
      guard elements.count <= maxBytes / 4 else {
        throw StoreError(.tooLarge, "an array has \(elements.count) elements, \(maxBytes / 4) are allowed")
      }
      appendCount(elements.count)
      appendCount(1)
      for element in elements {
        let place = bytes.count
        appendCount(-1)
        guard let element else { continue }
        try append(&self, element)
        setCount(bytes.count - place - 4, at: place)
      }
    }

    private mutating func appendInteger(_ number: Int64) {
      withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }

    private mutating func appendCount(_ count: Int) {
      withUnsafeBytes(of: Int32(truncatingIfNeeded: count).bigEndian) { bytes += $0 }
    }

    private mutating func setCount(_ count: Int, at place: Int) {
      withUnsafeBytes(of: Int32(truncatingIfNeeded: count).bigEndian) { number in
        for (offset, byte) in number.enumerated() { bytes[place + offset] = byte }
      }
    }
  }
}

extension BinaryFormat.Values {
  func withPointers<T>(
    _ body: ([UInt32], [UnsafePointer<CChar>?], [Int32], [Int32]) -> T
  ) -> T {
    bytes.withUnsafeBytes { buffer in
      let pointers = places.map { place in
        place.flatMap { buffer.baseAddress?.advanced(by: $0.lowerBound).assumingMemoryBound(to: CChar.self) }
      }
      // Within Int32: a run's values are limited to 1 GiB.
      let lengths = places.map { Int32(clamping: $0?.count ?? 0) }
      return body(types.map(\.number), pointers, lengths, [Int32](repeating: 1, count: places.count))
    }
  }
}

import CountersignCRabbitMQ

extension String {
  /// Copies the bytes. Invalid UTF-8 becomes U+FFFD, which may triple the length. Only for texts that people read.
  init(_ bytes: amqp_bytes_t) {
    self.init(decoding: UnsafeRawBufferPointer(bytes), as: UTF8.self)
  }

  /// `nil` for invalid UTF-8. Nearly all is ASCII, with which `init(validating:as:)` takes longer to find its generic
  /// code than to run it.
  fileprivate init?(checking bytes: UnsafeRawBufferPointer) {
    guard bytes.allSatisfy({ $0 < 0x80 }) else {
      self.init(validating: bytes, as: UTF8.self)
      return
    }
    self.init(decoding: bytes, as: UTF8.self)
  }
}

extension UnsafeRawBufferPointer {
  init(_ bytes: amqp_bytes_t) {
    self.init(start: bytes.bytes, count: bytes.bytes == nil ? 0 : bytes.len)
  }
}

/// Copies the properties of a message out of the library's memory. The broker does not check that they are UTF-8.
struct PropertyDecoder {
  /// Names of the properties that are not UTF-8, each once.
  private(set) var malformed: [String] = []

  mutating func text(_ bytes: UnsafeRawBufferPointer, _ name: StaticString) -> String? {
    let text = String(checking: bytes)
    if text == nil { note(name) }
    return text
  }

  private mutating func note(_ name: StaticString) {
    let name = "\(name)"
    if !malformed.contains(name) { malformed.append(name) }
  }
}

extension Message {
  init(_ source: amqp_basic_properties_t, _ repeated: inout RepeatedTexts) {
    let flags = Int32(bitPattern: source._flags)
    var decoder = PropertyDecoder()
    func text(_ bytes: amqp_bytes_t, _ flag: Int32, _ name: StaticString) -> String? {
      flags & flag == 0 ? nil : decoder.text(UnsafeRawBufferPointer(bytes), name)
    }
    func text(_ bytes: amqp_bytes_t, _ flag: Int32, _ name: StaticString, _ repeated: inout RepeatedText) -> String? {
      guard flags & flag != 0 else { return nil }
      return repeated.known(bytes) ?? decoder.text(UnsafeRawBufferPointer(bytes), name).map { repeated.keep($0) }
    }
    self.init(
      headers: flags & AMQP_BASIC_HEADERS_FLAG == 0 ? [:] : decoder.fields(source.headers, depth: 0),
      correlationID: text(source.correlation_id, AMQP_BASIC_CORRELATION_ID_FLAG, "correlation_id"),
      replyTo: text(source.reply_to, AMQP_BASIC_REPLY_TO_FLAG, "reply_to", &repeated.replyTo),
      messageID: text(source.message_id, AMQP_BASIC_MESSAGE_ID_FLAG, "message_id"),
      type: text(source.type, AMQP_BASIC_TYPE_FLAG, "type", &repeated.type),
      userID: text(source.user_id, AMQP_BASIC_USER_ID_FLAG, "user_id"))
    contentType = text(source.content_type, AMQP_BASIC_CONTENT_TYPE_FLAG, "content_type", &repeated.contentType)
    contentEncoding = text(source.content_encoding, AMQP_BASIC_CONTENT_ENCODING_FLAG, "content_encoding")
    isPersistent =
      flags & AMQP_BASIC_DELIVERY_MODE_FLAG != 0
      && source.delivery_mode == UInt8(AMQP_DELIVERY_PERSISTENT.rawValue)
    if flags & AMQP_BASIC_PRIORITY_FLAG != 0 { priority = source.priority }
    expiration = text(source.expiration, AMQP_BASIC_EXPIRATION_FLAG, "expiration")
    if flags & AMQP_BASIC_TIMESTAMP_FLAG != 0 { timestamp = source.timestamp }
    appID = text(source.app_id, AMQP_BASIC_APP_ID_FLAG, "app_id", &repeated.appID)
    malformedProperties = decoder.malformed
  }
}

extension PropertyDecoder {
  /// A name that is not UTF-8 is omitted together with its value.
  mutating func fields(_ table: amqp_table_t, depth: Int) -> [String: FieldValue] {
    guard let entries = table.entries, table.num_entries > 0 else { return [:] }
    let source = UnsafeBufferPointer(start: entries, count: Int(table.num_entries))
    var result = [String: FieldValue](minimumCapacity: source.count)
    for entry in source {
      guard let name = text(UnsafeRawBufferPointer(entry.key), "headers") else { continue }
      result[name] = value(entry.value, depth: depth + 1)
    }
    return result
  }

  /// Values beyond `WireLimits.maxDepth` become `null`. A string that is not UTF-8 becomes `bytes`: AMQP does not
  /// define its encoding.
  private mutating func value(_ field: amqp_field_value_t, depth: Int) -> FieldValue {
    guard depth < WireLimits.maxDepth else { return .null }
    let value = field.value
    switch UInt32(field.kind) {
    case AMQP_FIELD_KIND_BOOLEAN.rawValue: return .bool(value.boolean != 0)
    case AMQP_FIELD_KIND_I8.rawValue: return .int(Int64(value.i8))
    case AMQP_FIELD_KIND_U8.rawValue: return .int(Int64(value.u8))
    case AMQP_FIELD_KIND_I16.rawValue: return .int(Int64(value.i16))
    case AMQP_FIELD_KIND_U16.rawValue: return .int(Int64(value.u16))
    case AMQP_FIELD_KIND_I32.rawValue: return .int(Int64(value.i32))
    case AMQP_FIELD_KIND_U32.rawValue: return .int(Int64(value.u32))
    case AMQP_FIELD_KIND_I64.rawValue: return .int(value.i64)
    case AMQP_FIELD_KIND_U64.rawValue: return Int64(exactly: value.u64).map { .int($0) } ?? .double(Double(value.u64))
    case AMQP_FIELD_KIND_F32.rawValue: return .double(Double(value.f32))
    case AMQP_FIELD_KIND_F64.rawValue: return .double(value.f64)
    case AMQP_FIELD_KIND_DECIMAL.rawValue:
      return .double((0..<value.decimal.decimals).reduce(Double(value.decimal.value)) { result, _ in result / 10 })
    case AMQP_FIELD_KIND_UTF8.rawValue:
      let bytes = UnsafeRawBufferPointer(value.bytes)
      return String(checking: bytes).map { .string($0) } ?? .bytes(Array(bytes))
    case AMQP_FIELD_KIND_BYTES.rawValue: return .bytes(Array(UnsafeRawBufferPointer(value.bytes)))
    case AMQP_FIELD_KIND_TIMESTAMP.rawValue: return .timestamp(value.u64)
    case AMQP_FIELD_KIND_ARRAY.rawValue:
      let entries = UnsafeBufferPointer(start: value.array.entries, count: Int(max(0, value.array.num_entries)))
      var values: [FieldValue] = []
      values.reserveCapacity(entries.count)
      for entry in entries { values.append(self.value(entry, depth: depth + 1)) }
      return .array(values)
    case AMQP_FIELD_KIND_TABLE.rawValue: return .table(fields(value.table, depth: depth))
    default: return .null
    }
  }
}

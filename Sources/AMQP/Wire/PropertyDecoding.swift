internal import CRabbitMQ

extension String {
  /// Copies; bytes that are not UTF-8 become U+FFFD.
  init(_ bytes: amqp_bytes_t) {
    self.init(decoding: UnsafeRawBufferPointer(bytes), as: UTF8.self)
  }
}

extension UnsafeRawBufferPointer {
  init(_ bytes: amqp_bytes_t) {
    self.init(start: bytes.bytes, count: bytes.bytes == nil ? 0 : bytes.len)
  }
}

extension Message {
  /// Copies the properties out of the library's memory.
  init(_ source: amqp_basic_properties_t, _ repeated: inout RepeatedTexts) {
    let flags = Int32(bitPattern: source._flags)
    func text(_ bytes: amqp_bytes_t, _ flag: Int32) -> String? {
      flags & flag == 0 ? nil : String(bytes)
    }
    func text(_ bytes: amqp_bytes_t, _ flag: Int32, _ repeated: inout RepeatedText) -> String? {
      flags & flag == 0 ? nil : repeated.read(bytes)
    }
    self.init(
      contentType: text(source.content_type, AMQP_BASIC_CONTENT_TYPE_FLAG, &repeated.contentType),
      contentEncoding: text(source.content_encoding, AMQP_BASIC_CONTENT_ENCODING_FLAG),
      headers: flags & AMQP_BASIC_HEADERS_FLAG == 0 ? [:] : FieldValue.fields(source.headers, depth: 0),
      isPersistent: flags & AMQP_BASIC_DELIVERY_MODE_FLAG != 0
        && source.delivery_mode == UInt8(AMQP_DELIVERY_PERSISTENT.rawValue),
      priority: flags & AMQP_BASIC_PRIORITY_FLAG == 0 ? nil : source.priority,
      correlationID: text(source.correlation_id, AMQP_BASIC_CORRELATION_ID_FLAG),
      replyTo: text(source.reply_to, AMQP_BASIC_REPLY_TO_FLAG, &repeated.replyTo),
      expiration: text(source.expiration, AMQP_BASIC_EXPIRATION_FLAG),
      messageID: text(source.message_id, AMQP_BASIC_MESSAGE_ID_FLAG),
      timestamp: flags & AMQP_BASIC_TIMESTAMP_FLAG == 0 ? nil : source.timestamp,
      type: text(source.type, AMQP_BASIC_TYPE_FLAG, &repeated.type),
      userID: text(source.user_id, AMQP_BASIC_USER_ID_FLAG),
      appID: text(source.app_id, AMQP_BASIC_APP_ID_FLAG, &repeated.appID))
  }
}

extension FieldValue {
  static func fields(_ table: amqp_table_t, depth: Int) -> [String: FieldValue] {
    guard let entries = table.entries, table.num_entries > 0 else { return [:] }
    let source = UnsafeBufferPointer(start: entries, count: Int(table.num_entries))
    var result = [String: FieldValue](minimumCapacity: source.count)
    for entry in source { result[String(entry.key)] = FieldValue(entry.value, depth: depth + 1) }
    return result
  }

  /// Beyond `MessageLimits.maxDepth` everything is `null`.
  private init(_ field: amqp_field_value_t, depth: Int) {
    guard depth < MessageLimits.maxDepth else {
      self = .null
      return
    }
    let value = field.value
    switch UInt32(field.kind) {
    case AMQP_FIELD_KIND_BOOLEAN.rawValue: self = .bool(value.boolean != 0)
    case AMQP_FIELD_KIND_I8.rawValue: self = .int(Int64(value.i8))
    case AMQP_FIELD_KIND_U8.rawValue: self = .int(Int64(value.u8))
    case AMQP_FIELD_KIND_I16.rawValue: self = .int(Int64(value.i16))
    case AMQP_FIELD_KIND_U16.rawValue: self = .int(Int64(value.u16))
    case AMQP_FIELD_KIND_I32.rawValue: self = .int(Int64(value.i32))
    case AMQP_FIELD_KIND_U32.rawValue: self = .int(Int64(value.u32))
    case AMQP_FIELD_KIND_I64.rawValue: self = .int(value.i64)
    case AMQP_FIELD_KIND_U64.rawValue: self = Int64(exactly: value.u64).map { .int($0) } ?? .double(Double(value.u64))
    case AMQP_FIELD_KIND_F32.rawValue: self = .double(Double(value.f32))
    case AMQP_FIELD_KIND_F64.rawValue: self = .double(value.f64)
    case AMQP_FIELD_KIND_DECIMAL.rawValue:
      self = .double((0..<value.decimal.decimals).reduce(Double(value.decimal.value)) { result, _ in result / 10 })
    case AMQP_FIELD_KIND_UTF8.rawValue: self = .string(String(value.bytes))
    case AMQP_FIELD_KIND_BYTES.rawValue: self = .bytes(Array(UnsafeRawBufferPointer(value.bytes)))
    case AMQP_FIELD_KIND_TIMESTAMP.rawValue: self = .timestamp(value.u64)
    case AMQP_FIELD_KIND_ARRAY.rawValue:
      let entries = UnsafeBufferPointer(start: value.array.entries, count: Int(max(0, value.array.num_entries)))
      self = .array(entries.map { FieldValue($0, depth: depth + 1) })
    case AMQP_FIELD_KIND_TABLE.rawValue: self = .table(Self.fields(value.table, depth: depth))
    default: self = .null
    }
  }
}

import CountersignCRabbitMQ

/// Writes Swift values into the library's structures. The memory they point to stays valid until `pool` is recycled.
struct PropertyEncoder {
  let pool: UnsafeMutablePointer<amqp_pool_t>

  func bytes(_ text: String) throws(AMQPError) -> amqp_bytes_t {
    var text = text
    var result = amqp_bytes_t()
    let isCopied = text.withUTF8 { copy(UnsafeRawBufferPointer($0), &result) }
    guard isCopied else { throw Self.outOfMemory }
    return result
  }

  func properties(_ message: Message) throws(AMQPError) -> amqp_basic_properties_t {
    var result = amqp_basic_properties_t()
    var flags = AMQP_BASIC_DELIVERY_MODE_FLAG
    result.delivery_mode = UInt8(
      message.isPersistent ? AMQP_DELIVERY_PERSISTENT.rawValue : AMQP_DELIVERY_NONPERSISTENT.rawValue)
    if !message.headers.isEmpty {
      result.headers = try table(message.headers)
      flags |= AMQP_BASIC_HEADERS_FLAG
    }
    if let priority = message.priority {
      result.priority = priority
      flags |= AMQP_BASIC_PRIORITY_FLAG
    }
    if let timestamp = message.timestamp {
      result.timestamp = timestamp
      flags |= AMQP_BASIC_TIMESTAMP_FLAG
    }
    try set(&result.content_type, message.contentType, &flags, AMQP_BASIC_CONTENT_TYPE_FLAG)
    try set(&result.content_encoding, message.contentEncoding, &flags, AMQP_BASIC_CONTENT_ENCODING_FLAG)
    try set(&result.correlation_id, message.correlationID, &flags, AMQP_BASIC_CORRELATION_ID_FLAG)
    try set(&result.reply_to, message.replyTo, &flags, AMQP_BASIC_REPLY_TO_FLAG)
    try set(&result.expiration, message.expiration, &flags, AMQP_BASIC_EXPIRATION_FLAG)
    try set(&result.message_id, message.messageID, &flags, AMQP_BASIC_MESSAGE_ID_FLAG)
    try set(&result.type, message.type, &flags, AMQP_BASIC_TYPE_FLAG)
    try set(&result.user_id, message.userID, &flags, AMQP_BASIC_USER_ID_FLAG)
    try set(&result.app_id, message.appID, &flags, AMQP_BASIC_APP_ID_FLAG)
    result._flags = amqp_flags_t(flags)
    return result
  }

  func table(_ fields: [String: FieldValue]) throws(AMQPError) -> amqp_table_t {
    guard !fields.isEmpty else { return amqp_table_t(num_entries: 0, entries: nil) }
    let entries = try allocate(amqp_table_entry_t.self, fields.count)
    var index = 0
    for (name, value) in fields {
      entries[index] = amqp_table_entry_t(key: try bytes(name), value: try field(value))
      index += 1
    }
    return amqp_table_t(num_entries: Int32(fields.count), entries: entries)
  }

  private func set(
    _ target: inout amqp_bytes_t, _ text: String?, _ flags: inout Int32, _ flag: Int32
  ) throws(AMQPError) {
    guard let text else { return }
    target = try bytes(text)
    flags |= flag
  }

  private func field(_ value: FieldValue) throws(AMQPError) -> amqp_field_value_t {
    var result = amqp_field_value_t()
    switch value {
    case .bool(let value):
      result.kind = UInt8(AMQP_FIELD_KIND_BOOLEAN.rawValue)
      result.value.boolean = value ? 1 : 0
    case .int(let value):
      result.kind = UInt8(AMQP_FIELD_KIND_I64.rawValue)
      result.value.i64 = value
    case .double(let value):
      result.kind = UInt8(AMQP_FIELD_KIND_F64.rawValue)
      result.value.f64 = value
    case .string(let value):
      result.kind = UInt8(AMQP_FIELD_KIND_UTF8.rawValue)
      result.value.bytes = try bytes(value)
    case .bytes(let value):
      result.kind = UInt8(AMQP_FIELD_KIND_BYTES.rawValue)
      guard value.withUnsafeBytes({ copy($0, &result.value.bytes) }) else { throw Self.outOfMemory }
    case .timestamp(let value):
      result.kind = UInt8(AMQP_FIELD_KIND_TIMESTAMP.rawValue)
      result.value.u64 = value
    case .array(let values):
      result.kind = UInt8(AMQP_FIELD_KIND_ARRAY.rawValue)
      let entries = try allocate(amqp_field_value_t.self, max(1, values.count))
      for (index, value) in values.enumerated() { entries[index] = try field(value) }
      result.value.array = amqp_array_t(num_entries: Int32(values.count), entries: entries)
    case .table(let fields):
      result.kind = UInt8(AMQP_FIELD_KIND_TABLE.rawValue)
      result.value.table = try table(fields)
    case .null:
      result.kind = UInt8(AMQP_FIELD_KIND_VOID.rawValue)
    }
    return result
  }

  private func copy(_ source: UnsafeRawBufferPointer, _ target: inout amqp_bytes_t) -> Bool {
    guard let base = source.baseAddress, source.count > 0 else { return true }
    amqp_pool_alloc_bytes(pool, source.count, &target)
    guard let bytes = target.bytes else { return false }
    bytes.copyMemory(from: base, byteCount: source.count)
    return true
  }

  private func allocate<T>(_ type: T.Type, _ count: Int) throws(AMQPError) -> UnsafeMutablePointer<T> {
    guard let memory = amqp_pool_alloc(pool, count * MemoryLayout<T>.stride) else { throw Self.outOfMemory }
    return memory.bindMemory(to: type, capacity: count)
  }

  private static let outOfMemory = AMQPError(.connectionLost, "out of memory")
}

export function startsWith(word: string) {
  return [{ type: 'message_received', match: { mode: 'starts_with', values: [word] } }]
}

export function say(id: string, body: string, rest: object = {}) {
  return { id, type: 'send_message', message: { body }, ...rest }
}

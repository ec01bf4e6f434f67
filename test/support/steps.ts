/** Builders of steps with defaults for the fields that a test does not depend on. */
export function say(id: string, body = id, rest: object = {}): object {
  return { id, type: 'send_message', message: { body }, ...rest }
}

export function ask(id: string, rest: object = {}): object {
  return { id, type: 'ask', message: { body: `${id}?` }, ...rest }
}

export function pause(id: string, rest: object = {}): object {
  return { id, type: 'wait', for: '1m', ...rest }
}

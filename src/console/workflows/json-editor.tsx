import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { type JsonPlace, toLine } from './json-place.ts'

/** The height of a line and the space above the first one, as in the styles. */
const LINE_HEIGHT = 18
const PADDING = 10

type Props = {
  text: string
  label: string
  onChange?: (text: string) => void
  onSave?: () => void
  /** A part that is marked, and scrolled to when it becomes another one. */
  mark?: JsonPlace | undefined
  /** Changes when the mark was chosen, also if it is the same again. */
  markKey?: string | undefined
  describedBy?: string
}

/** A JSON text in a plain field. */
export function JsonEditor({ text, label, onChange, onSave, mark, markKey, describedBy }: Props) {
  const ref = useRef<HTMLTextAreaElement>(null)
  const [scrolled, setScrolled] = useState(0)
  const lines = mark && {
    first: toLine(text, mark.start).line,
    last: toLine(text, mark.end).line,
  }
  useEffect(() => {
    const field = ref.current
    if (!field || !lines) return
    field.scrollTop = Math.max(0, (lines.first - 3) * LINE_HEIGHT)
    // Only a new choice moves the text, not each change of it.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [markKey])
  const listen = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    onSave?.()
  }
  return (
    <div className="json-editor">
      {lines && (
        <div
          className="json-mark"
          style={{
            height: (lines.last - lines.first + 1) * LINE_HEIGHT,
            transform: `translateY(${PADDING + (lines.first - 1) * LINE_HEIGHT - scrolled}px)`,
          }}
        />
      )}
      <textarea
        ref={ref}
        className="mono"
        aria-label={label}
        aria-describedby={describedBy}
        aria-keyshortcuts={onSave ? 'Control+Enter Meta+Enter' : undefined}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        wrap="off"
        value={text}
        readOnly={!onChange}
        onChange={(event) => onChange?.(event.target.value)}
        onScroll={(event) => setScrolled(event.currentTarget.scrollTop)}
        onKeyDown={listen}
      />
    </div>
  )
}

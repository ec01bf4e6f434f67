import { toast } from './toasts.tsx'

/** A text with a click that copies it; IDs are shown by their end, which differs most. */
export function Copy({ text, label = 'ID', shown }: { text: string; label?: string; shown?: string }) {
  const copy = async () => {
    // There is no clipboard outside of secure contexts.
    const isCopied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    toast(isCopied ? `${label} copied` : `${label}: ${text}`)
  }
  return (
    <button type="button" className="copy" title={`Copy ${label}: ${text}`} onClick={() => void copy()}>
      <span className="visually-hidden">Copy {label} </span>
      {shown ?? `…${text.slice(-8)}`}
    </button>
  )
}

/** A labelled form field with its hint and errors, which screen readers announce with the field. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  errors?: readonly string[] | undefined;
  /** Next to the label, such as a badge. */
  aside?: ComponentChildren;
  /** Renders the control with the attributes that connect it to the label, hint and errors. */
  children: (control: ControlAttributes) => ComponentChildren;
}

export interface ControlAttributes {
  id: string;
  "aria-describedby": string;
  "aria-invalid": boolean;
}

export function Field({ label, hint, errors = [], aside, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <div class="field-label">
        <label for={id}>{label}</label>
        {aside}
      </div>
      {children({ id, "aria-describedby": `${id}-note`, "aria-invalid": errors.length > 0 })}
      <div id={`${id}-note`} class="field-note">
        {errors.map((error) => (
          <p key={error} class="field-error">
            {error}
          </p>
        ))}
        {errors.length === 0 && hint && <p class="field-hint">{hint}</p>}
      </div>
    </div>
  );
}

type TextFieldProps = Omit<FieldProps, "children"> & {
  value: string;
  onValue: (value: string) => void;
  type?: "text" | "password" | "search" | "number";
  placeholder?: string | undefined;
  required?: boolean;
  disabled?: boolean;
};

export function TextField(props: TextFieldProps) {
  const {
    label,
    hint,
    errors,
    aside,
    value,
    onValue,
    type = "text",
    placeholder,
    required = false,
    disabled = false,
  } = props;
  return (
    <Field label={label} hint={hint} errors={errors} aside={aside}>
      {(control) => (
        <input
          {...control}
          class="input"
          type={type as "text"} // the type definitions have one variant per type
          value={value}
          placeholder={placeholder}
          required={required}
          disabled={disabled}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

type SelectFieldProps = Omit<FieldProps, "children"> & {
  value: string;
  onValue: (value: string) => void;
  options: readonly { value: string; label: string }[];
};

export function SelectField({ label, hint, errors, aside, value, onValue, options }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} errors={errors} aside={aside}>
      {(control) => (
        <select {...control} class="input" value={value} onChange={(event) => onValue(event.currentTarget.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

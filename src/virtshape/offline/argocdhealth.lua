-- Health of a VirtualMachine for Argo CD, from its printable status and its conditions.

local FAILED = {
  CrashLoopBackOff = true,
  DataVolumeError = true,
  ErrImagePull = true,
  ErrorPvcNotFound = true,
  ErrorUnschedulable = true,
  ImagePullBackOff = true,
}
local IN_PROGRESS = {
  Provisioning = true,
  Starting = true,
  Stopping = true,
  Terminating = true,
  WaitingForReceiver = true,
  WaitingForVolumeBinding = true,
}

local status = obj.status or {}
local printable = status.printableStatus
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local function has(name, value)
  return conditions[name] ~= nil and conditions[name].status == value
end

-- Return the message of the first of these conditions that explains a problem, or a default.
local function explain(default)
  local reasons = {{"Failure", "True"}, {"DataVolumesReady", "False"}, {"Synchronized", "False"}, {"PodScheduled", "False"}}
  for _, reason in ipairs(reasons) do
    local name, value = reason[1], reason[2]
    if has(name, value) and conditions[name].message ~= nil and conditions[name].message ~= "" then
      return default .. ": " .. conditions[name].message
    end
  end
  return default
end

if printable == nil or printable == "" then
  return {status = "Progressing", message = "Waiting for the VM controller"}
end
if FAILED[printable] or has("Failure", "True") then
  return {status = "Degraded", message = explain(printable)}
end
if IN_PROGRESS[printable] then
  return {status = "Progressing", message = explain(printable)}
end
if printable == "Paused" then
  return {status = "Suspended", message = "The VM is paused"}
end
if printable == "Stopped" then
  if obj.spec.runStrategy == "Always" or obj.spec.running == true then
    return {status = "Progressing", message = explain("Waiting for the VM to start")}
  end
  return {status = "Suspended", message = "The VM is stopped"}
end
if printable == "Running" or printable == "Migrating" then
  if not has("Ready", "True") then
    return {status = "Progressing", message = "The VM is running, but not ready"}
  end
  if has("RestartRequired", "True") then
    return {status = "Healthy", message = conditions.RestartRequired.message or "A restart is required"}
  end
  return {status = "Healthy", message = "The VM is running"}
end
return {status = "Unknown", message = explain(printable)}

-- Calendar window with proportional inheritance: the state also has the limit, and a rule with another limit scales the state.
--
-- KEYS  the rule's key: a string, `limit|state`, where state is that of calendar-window.lua
-- ARGV, Returns  see calendar-window.lua
--
-- @needs proportional, scale-window

return proportional(algorithms['calendar-window'], scale_window)
